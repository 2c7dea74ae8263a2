package sdk

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run with -update\n got %s", path, got)
	}
}

// fewTools is a small set with every kind of name and type.
func fewTools(t testing.TB) []Tool {
	return []Tool{
		{
			Name:        "read",
			Description: "Read a text file. Lines are numbered from 1.",
			Parameters:  parse(t, `{"type":"object","properties":{"file_path":{"type":"string","description":"Absolute path"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["file_path"],"additionalProperties":false}`),
			Output:      parse(t, `{"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}},"truncated":{"type":"boolean"}},"required":["lines","truncated"],"additionalProperties":false}`),
		},
		{
			Name:        "bash",
			Description: "Run a command.\n\nIts output is text, e.g. of `ls`. */ {{cwd}} is left alone.",
			Parameters:  parse(t, `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
			Output:      parse(t, `{"oneOf":[{"type":"object","properties":{"kind":{"const":"foreground"},"exitCode":{"type":["integer","null"]}},"required":["kind"],"additionalProperties":false},{"type":"string"}]}`),
		},
		{
			Name:       "tracker.create-issue",
			Parameters: parse(t, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"title":{"type":"string","minLength":1},"parent":{"$ref":"#/definitions/Issue"}},"required":["title"],"definitions":{"Issue":{"type":"object","properties":{"id":{"type":"integer"},"parent":{"$ref":"#/definitions/Issue"}},"required":["id"]}}}`),
			Output:     parse(t, `{}`),
		},
	}
}

// manyTools makes a set like those of large MCP servers.
func manyTools(n int) []Tool {
	verbs := []string{"create", "list", "update", "delete", "search"}
	nouns := []string{"issue", "comment", "label", "repository", "release", "branch", "workflow"}
	tools := make([]Tool, n)
	for i := range tools {
		verb, noun := verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]
		tools[i] = Tool{
			Name:        fmt.Sprintf("host_%s_%s_%d", verb, noun, i),
			Description: fmt.Sprintf("%s one %s of a project. Needs permission to write when it changes something.", verb, noun),
			Parameters: jsonvalue.MustFromGo(map[string]any{
				"type": "object",
				"properties": map[string]any{
					"owner":  map[string]any{"type": "string", "description": "Who owns the project"},
					"repo":   map[string]any{"type": "string", "description": "The name of the project"},
					noun:     map[string]any{"type": []string{"string", "null"}, "description": "Which " + noun},
					"labels": map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": []string{"bug", "feature", "question"}}},
					"page":   map[string]any{"type": "integer", "minimum": 1, "description": "Page of the list to return"},
					"options": map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
						"dryRun": map[string]any{"type": "boolean"}, "mode": map[string]any{"anyOf": []any{map[string]any{"const": "fast"}, map[string]any{"const": "safe"}}},
					}},
				},
				"required": []string{"owner", "repo"},
			}),
			Output: jsonvalue.MustFromGo(map[string]any{
				"type": "object", "additionalProperties": false,
				"properties": map[string]any{
					"id": map[string]any{"type": "integer"}, "url": map[string]any{"type": "string"},
					"items": map[string]any{"type": "array", "items": map[string]any{"type": "object"}},
				},
				"required": []string{"id"},
			}),
		}
	}
	return tools
}

func TestSectionGolden(t *testing.T) {
	golden(t, "declared.golden", Section(fewTools(t), Options{}))
	golden(t, "indexed.golden", Section(fewTools(t), Options{MaxChars: 500, MaxParallelCalls: 4}))
}

func TestSectionHoldsTheBlock(t *testing.T) {
	tools := fewTools(t)
	if s := Section(tools, Options{}); !strings.HasSuffix(s, "```ts\n"+Block(tools)+"\n```") {
		t.Errorf("the block is not in\n%s", s)
	}
	mustBeTypeScript(t, Block(tools))
	mustBeTypeScript(t, Block(nil))
	mustBeTypeScript(t, Block(manyTools(200)))
}

func TestSectionSwitchesToTheIndex(t *testing.T) {
	tools := manyTools(60)
	size := utf8.RuneCountInString(Block(tools))
	for _, c := range []struct {
		max     int
		indexed bool
	}{{size, false}, {size - 1, true}, {-1, false}} {
		s := New(tools, Options{MaxChars: c.max})
		if s.Indexed() != c.indexed {
			t.Errorf("limit %d, block of %d: indexed %v", c.max, size, s.Indexed())
		}
		for _, tool := range tools {
			if !strings.Contains(s.Section(), tool.Name) {
				t.Errorf("limit %d: %s is missing", c.max, tool.Name)
			}
		}
	}
	if s := New(tools, Options{}); s.Indexed() != (size > DefaultMaxChars) {
		t.Errorf("default limit: indexed %v, block of %d", s.Indexed(), size)
	}
}

// TestSectionStaysSmall checks that the index is bounded as well, whatever is
// in the descriptions.
func TestSectionStaysSmall(t *testing.T) {
	tools := manyTools(2000)
	for i := range tools {
		tools[i].Description = strings.Repeat("long\nlines ", 100)
	}
	around := utf8.RuneCountInString(Section(nil, Options{MaxChars: 1})) + 200
	for _, limit := range []int{1, 1000, 40_000, 200_000} {
		s := Section(tools, Options{MaxChars: limit})
		if n := utf8.RuneCountInString(s); n > limit+around {
			t.Errorf("limit %d: %d characters", limit, n)
		}
	}
	if s := Section(tools, Options{}); !strings.Contains(s, "more: find them with tools.$search") {
		t.Error("what is left out is not mentioned")
	}
}

func TestIndexLinesStayLines(t *testing.T) {
	tools := []Tool{
		{Name: "a\nb", Description: "x\r\n```\n# y\u2028z", Parameters: parse(t, `{"properties":{"c\nd":{}}}`)},
		{Name: "plain", Description: "\n", Parameters: parse(t, `{}`)},
	}
	s := Section(tools, Options{MaxChars: 200})
	want := "- tools[\"a\\nb\"]({\"c\\nd\"?}) — x ``` # y z\n- tools.plain()"
	if !strings.HasSuffix(s, want) {
		t.Errorf("the section ends in\n%s\nwant\n%s", s[max(0, len(s)-200):], want)
	}
}

func TestSectionSaysHowCallsAreScheduled(t *testing.T) {
	one, also, four := Section(nil, Options{}), Section(nil, Options{MaxParallelCalls: 1}), Section(nil, Options{MaxParallelCalls: 4})
	if one != also || !strings.Contains(one, "one at a time") {
		t.Error("sequential calls are not explained")
	}
	if !strings.Contains(four, "up to 4 at a time") || strings.Contains(four, "MAX") {
		t.Error("parallel calls are not explained")
	}
}

func TestSectionDoesNotDependOnOrder(t *testing.T) {
	tools := append(fewTools(t), manyTools(20)...)
	tools = append(tools, Tool{Name: "\U0001F600"}, Tool{Name: "\uFF21"}, Tool{Name: "Z"}, Tool{Name: "a"},
		Tool{Name: "a", Description: "the same name again"})
	rapid.Check(t, func(rt *rapid.T) {
		shuffled := slices.Clone(tools)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		for _, o := range []Options{{}, {MaxChars: 100}, {MaxChars: 2000}} {
			if Section(shuffled, o) != Section(tools, o) {
				rt.Fatalf("the order shows with %+v", o)
			}
		}
	})
}

func TestNamesSortByCodeUnit(t *testing.T) {
	names := []string{"", "A", "Z", "a", "ab", "b", "é", "\uD7FF", "\U0001F600", "\U0001F601", "\uE000", "\uFF21"}
	for i, a := range names {
		for j, b := range names {
			got := compareCodeUnits(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("compare(%+q, %+q) = %d", a, b, got)
			}
		}
	}
}

func TestDescriptionsOfAnyKindKeepTheBlockValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		description := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"*/", "**/", "/*", "*\n/", "```\n", "\\", "//", "\u2028*/"})).Draw(t, "description")
		tool := Tool{Name: rapid.String().Draw(t, "name"), Description: description, Parameters: jsonvalue.MustFromGo(map[string]any{
			"properties": map[string]any{rapid.String().Draw(t, "member"): map[string]any{"description": description}},
		})}
		block := Block([]Tool{tool})
		mustBeTypeScript(t, block)
		mustBeTypeScript(t, Declaration(tool))
		for line := range strings.Lines(block) {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
				t.Fatalf("a line that would end the fence: %q", line)
			}
		}
	})
}

func BenchmarkSection(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		tools := manyTools(n)
		b.Run(fmt.Sprintf("declared/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Section(tools, Options{MaxChars: -1})
			}
		})
		b.Run(fmt.Sprintf("default/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(tools, Options{})
			}
		})
	}
	c := NewCache[int](0)
	tools := manyTools(1000)
	b.Run("unchanged/1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Get(1, func() ([]Tool, Options) { return tools, Options{} })
		}
	})
}
