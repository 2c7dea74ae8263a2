package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// maxSources is how many sources one search gives.
const maxSources = 8

const (
	maxQuery   = 1000 // characters
	maxSnippet = 500  // characters of an excerpt
)

// Source is one place that a search found.
type Source struct{ URL, Title, Snippet, PublishedAt string }

// Found is what a search found, the best first. Answer is the service's own
// words; most give none.
type Found struct {
	Answer  string
	Sources []Source
}

// Searcher is a service that searches the web. Its errors are told to the model:
// they say what is wrong and hold no key.
type Searcher interface {
	// Search asks for a number of sources; it may give more.
	Search(ctx context.Context, query string, sources int) (Found, error)
}

func (w *Web) searchDefinition() registry.Definition {
	return registry.Definition{
		Name:        SearchName,
		Description: strings.TrimSpace(searchDescription),
		Parameters: schema.Params{
			schema.Required("query", schema.String("What to look for, as one would type it into a search engine.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Optional("content", schema.String("The service's own answer.")),
				schema.Required("sources", schema.Array("What was found, the best first.", schema.ClosedObject("",
					schema.Required("url", schema.String("Where it is.")),
					schema.Optional("title", schema.String("Its title.")),
					schema.Optional("snippet", schema.String("An excerpt.")),
					schema.Optional("publishedAt", schema.String("When it was published, as the service says it.")),
				))),
				schema.Required("truncated", schema.Boolean("Whether more was found.")),
			)),
			Render:           renderSearch,
			PresentationMeta: func(_, v jsonvalue.Value) (jsonvalue.Value, error) { return v, nil },
		},
		Execute:         w.search,
		PresentCall:     presentSearch,
		PresentResult:   presentFound,
		ConcurrencySafe: func(jsonvalue.Value) bool { return true },
	}
}

var errSearchTimeout = errors.New("web search timed out")

func (w *Web) search(ctx context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
	query := strings.TrimSpace(args.GetString("query"))
	if query == "" {
		return jsonvalue.Value{}, errors.New("query must be a non-empty string")
	}
	if _, n := cut(query, 0); n > maxQuery {
		return jsonvalue.Value{}, fmt.Errorf("query must have at most %d characters, and has %d", maxQuery, n)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, errSearchTimeout)
	defer cancel()
	found, err := w.opt.Search.Search(ctx, query, maxSources)
	switch {
	case err == nil:
	case context.Cause(ctx) == errSearchTimeout:
		return jsonvalue.Value{}, errSearchTimeout
	case ctx.Err() != nil:
		return jsonvalue.Value{}, ctx.Err()
	default:
		return jsonvalue.Value{}, fmt.Errorf("web search failed: %w", err)
	}
	return found.value(), nil
}

// value keeps the sources that can be opened, each once, up to the bound.
func (f Found) value() jsonvalue.Value {
	seen := map[string]bool{}
	sources := []jsonvalue.Value{}
	truncated := false
	for _, s := range f.Sources {
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || seen[s.URL] {
			continue
		}
		if len(sources) == maxSources {
			truncated = true
			break
		}
		seen[s.URL] = true
		v := jsonvalue.Object(jsonvalue.Member{Key: "url", Value: jsonvalue.String(s.URL)})
		for _, m := range []struct{ key, text string }{{"title", s.Title}, {"snippet", s.Snippet}, {"publishedAt", s.PublishedAt}} {
			if text := line(m.text); text != "" {
				v = v.With(m.key, jsonvalue.String(text))
			}
		}
		sources = append(sources, v)
	}
	v := jsonvalue.Object()
	if a := strings.TrimSpace(f.Answer); a != "" {
		a, _ = cut(strings.ToValidUTF8(a, "\uFFFD"), maxText)
		v = v.With("content", jsonvalue.String(a))
	}
	return v.With("sources", jsonvalue.Array(sources...)).With("truncated", jsonvalue.Bool(truncated))
}

// line is a text of a service on one line, within the bound.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if head, n := cut(s, maxSnippet); n > maxSnippet {
		return head + "…"
	}
	return s
}

// renderSearch is what the model reads.
func renderSearch(_, v jsonvalue.Value) ([]content.Block, error) {
	var parts []string
	if a := v.GetString("content"); a != "" {
		parts = append(parts, a)
	}
	sources := v.Get("sources")
	if sources.Len() == 0 {
		if len(parts) == 0 {
			parts = append(parts, "No results found.")
		}
	} else {
		var b strings.Builder
		b.WriteString("Sources:")
		for _, s := range sources.Elements() {
			title := s.GetString("title")
			if title == "" {
				title = s.GetString("url")
				if u, err := url.Parse(title); err == nil {
					title = u.Hostname()
				}
			}
			fmt.Fprintf(&b, "\n- [%s](%s)", bracketed.Replace(title), s.GetString("url"))
			if t := s.GetString("snippet"); t != "" {
				b.WriteString(" — " + t)
			}
			if t := s.GetString("publishedAt"); t != "" {
				b.WriteString(" (" + t + ")")
			}
		}
		parts = append(parts, b.String())
	}
	if cut, _ := v.Get("truncated").Bool(); cut {
		parts = append(parts, fmt.Sprintf("(Showing the first %d sources. Refine the query for more.)", sources.Len()))
	}
	parts = append(parts, "Cite the relevant URLs above as markdown links in your answer.")
	return []content.Block{content.Text(strings.Join(parts, "\n\n"))}, nil
}

// bracketed keeps a title from ending the link's text.
var bracketed = strings.NewReplacer("[", "(", "]", ")")

func presentSearch(args jsonvalue.Value) *cards.Call {
	q := args.GetString("query")
	return &cards.Call{Card: cards.Generic, Kind: cards.KindSearch, Title: q, RawInput: jsonvalue.String(q)}
}

func presentFound(_ jsonvalue.Value, in cards.ResultInput) *cards.Result {
	if in.IsError || !in.Meta.IsObject() {
		return nil
	}
	w := &cards.WebResult{Kind: "search", Answer: in.Meta.GetString("content")}
	w.Truncated, _ = in.Meta.Get("truncated").Bool()
	for _, s := range in.Meta.Get("sources").Elements() {
		w.Sources = append(w.Sources, cards.WebSource{
			URL: s.GetString("url"), Title: s.GetString("title"), Snippet: s.GetString("snippet"), PublishedAt: s.GetString("publishedAt"),
		})
	}
	return &cards.Result{Card: cards.Web, Web: w}
}
