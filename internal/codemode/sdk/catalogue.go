package sdk

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// DefaultResults is how many tools a search returns unless asked otherwise.
const DefaultResults = 10

// Catalogue answers what a program asks about its tools. It is immutable and
// safe for concurrent use.
type Catalogue struct {
	tools  []Tool // sorted by name
	byName map[string]int
	index  func() *searchIndex // built at the first search
}

// NewCatalogue returns the catalogue of a tool set.
func NewCatalogue(tools []Tool) *Catalogue { return newCatalogue(sorted(tools)) }

func newCatalogue(sorted []Tool) *Catalogue {
	c := &Catalogue{tools: sorted, byName: make(map[string]int, len(sorted))}
	for i := range sorted {
		c.byName[sorted[i].Name] = i
	}
	c.index = sync.OnceValue(func() *searchIndex { return newSearchIndex(sorted) })
	return c
}

// Match is one tool found by a search.
type Match struct {
	Name string
	// Description is the first sentence of the tool's description.
	Description string
	// Score is larger for better matches; only its order means anything.
	Score float64
}

// Value is the match as a program receives it: {name, description}.
func (m Match) Value() jsonvalue.Value {
	return jsonvalue.Object(
		jsonvalue.Member{Key: "name", Value: jsonvalue.String(m.Name)},
		jsonvalue.Member{Key: "description", Value: jsonvalue.String(m.Description)},
	)
}

// Search returns the tools that fit a few words best, best first, equal ones in
// the order of their names. A limit of 0 means DefaultResults. The words are
// looked for in names, descriptions and argument members; a query without any
// word lists the first tools.
func (c *Catalogue) Search(query string, limit int) []Match {
	if limit <= 0 {
		limit = DefaultResults
	}
	type hit struct {
		at    int
		score float64
	}
	var hits []hit
	words := queryWords(query)
	if len(words) == 0 {
		for i := range c.tools {
			hits = append(hits, hit{at: i})
		}
	} else {
		for i, score := range c.index().scores(words) {
			if strings.EqualFold(c.tools[i].Name, strings.TrimSpace(query)) {
				score += 1000
			}
			if score > 0 {
				hits = append(hits, hit{i, score})
			}
		}
		slices.SortStableFunc(hits, func(a, b hit) int {
			switch {
			case a.score > b.score:
				return -1
			case a.score < b.score:
				return 1
			default:
				return a.at - b.at
			}
		})
	}
	matches := make([]Match, 0, min(limit, len(hits)))
	for _, h := range hits[:min(limit, len(hits))] {
		t := &c.tools[h.at]
		matches = append(matches, Match{t.Name, shorten(firstSentence(t.Description), maxIndexLine), h.score})
	}
	return matches
}

// Describe returns the typed declaration of a tool. The error for a name that
// is not there is an *UnknownToolError.
func (c *Catalogue) Describe(name string) (string, error) {
	if i, ok := c.byName[name]; ok {
		return Declaration(c.tools[i]), nil
	}
	return "", &UnknownToolError{Name: name, Nearest: c.Nearest(name)}
}

// UnknownToolError says that no tool has a name, and which ones come near.
type UnknownToolError struct {
	Name    string
	Nearest []string
}

// Error names the alternatives.
func (e *UnknownToolError) Error() string {
	text := fmt.Sprintf("there is no tool named %s", jsonvalue.String(shorten(e.Name, 100)))
	if len(e.Nearest) == 0 {
		return text + "; tools.$search finds tools by a few words"
	}
	quoted := make([]string, len(e.Nearest))
	for i, n := range e.Nearest {
		quoted[i] = jsonvalue.String(n).String()
	}
	return text + "; did you mean " + strings.Join(quoted, ", ") + "?"
}

// The weights of the places a word is found in. A name says what a tool is
// about far better than its description does.
const (
	nameWeight        = 4.0
	memberWeight      = 1.5
	descriptionWeight = 1.0
	prefixFactor      = 0.5 // a word that only begins like the one asked for
)

// searchIndex holds, for every word, the tools that use it and how much.
type searchIndex struct {
	tools int
	words []string // sorted, so that prefixes are neighbours
	uses  map[string][]use
}

type use struct {
	tool   int
	weight float64
}

func newSearchIndex(tools []Tool) *searchIndex {
	x := &searchIndex{tools: len(tools), uses: make(map[string][]use)}
	for i := range tools {
		t := &tools[i]
		weights := make(map[string]float64)
		add := func(text string, weight float64) {
			for _, w := range splitWords(text) {
				// The best place counts; repeating a word must not
				// outweigh having it in the name.
				weights[w] = max(weights[w], weight)
			}
		}
		add(t.Name, nameWeight)
		add(t.Description, descriptionWeight)
		for name, s := range t.Parameters.Get("properties").Members() {
			add(name, memberWeight)
			add(s.GetString("description"), descriptionWeight/2)
		}
		for w, weight := range weights {
			x.uses[w] = append(x.uses[w], use{i, weight})
		}
	}
	for w := range x.uses {
		x.words = append(x.words, w)
	}
	slices.Sort(x.words)
	return x
}

// scores rates every tool against the words asked for. A word that few tools
// use counts more.
func (x *searchIndex) scores(asked []string) []float64 {
	total := make([]float64, x.tools)
	best := make([]float64, x.tools)
	for _, w := range asked {
		clear(best)
		at, _ := slices.BinarySearch(x.words, w)
		for _, word := range x.words[at:] {
			if !strings.HasPrefix(word, w) {
				break
			}
			factor := prefixFactor
			if word == w {
				factor = 1
			} else if len(w) < 3 {
				continue
			}
			uses := x.uses[word]
			rarity := math.Log(1 + float64(x.tools)/float64(len(uses)))
			for _, u := range uses {
				best[u.tool] = max(best[u.tool], factor*rarity*u.weight)
			}
		}
		for i, s := range best {
			total[i] += s
		}
	}
	return total
}
