package cards_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// presenters is a table of views by tool name.
type presenters struct {
	call   map[string]func(jsonvalue.Value) *cards.Call
	result map[string]func(jsonvalue.Value, cards.ResultInput) *cards.Result
}

func (p presenters) PresentCall(tool string, args jsonvalue.Value) *cards.Call {
	if f := p.call[tool]; f != nil {
		return f(args)
	}
	return nil
}

func (p presenters) PresentResult(tool string, args jsonvalue.Value, in cards.ResultInput) *cards.Result {
	if f := p.result[tool]; f != nil {
		return f(args, in)
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// shown is what a projected update looks like in a golden file.
func shown(u cards.Update) any {
	tc := func(cs []cards.ToolContent) any {
		if cs == nil {
			return nil
		}
		out := []any{}
		for _, c := range cs {
			switch {
			case c.Block != nil:
				out = append(out, c.Block.Value())
			case c.Diff != nil:
				out = append(out, map[string]any{"path": c.Diff.Path, "old": c.Diff.OldText, "new": c.Diff.NewText})
			case c.File != nil:
				out = append(out, map[string]any{"file": c.File.Path, "name": c.File.Name})
			default:
				out = append(out, map[string]any{"terminal": c.TerminalID})
			}
		}
		return out
	}
	val := func(v jsonvalue.Value) any {
		if v.IsUndefined() {
			return nil
		}
		return v
	}
	output := func(o *cards.TerminalOutput) any {
		if o == nil {
			return nil
		}
		return struct {
			ID, Data string
			Notes    string `json:",omitempty"`
		}(*o)
	}
	nested := func(parent string, m map[string]any) any {
		if parent != "" {
			m["parent"] = parent
		}
		return m
	}
	switch u := u.(type) {
	case cards.Message:
		return map[string]any{"message": u.Block.Value(), "role": u.Role, "id": u.ID}
	case cards.ToolCall:
		return nested(u.ParentID, map[string]any{"call": u.ID, "name": u.Name, "title": u.Title, "kind": u.Kind, "status": u.Status, "content": tc(u.Content), "locations": u.Locations, "rawInput": val(u.RawInput), "terminal": u.Terminal})
	case cards.ToolUpdate:
		return nested(u.ParentID, map[string]any{"update": u.ID, "title": u.Title, "status": u.Status, "content": tc(u.Content), "locations": u.Locations, "rawOutput": val(u.RawOutput), "output": output(u.Output), "exit": u.Exit, "card": val(u.Card)})
	case cards.Plan:
		return map[string]any{"plan": u.Entries}
	case cards.Compaction:
		if u.Summary != nil && len(u.Summary) == 0 {
			return map[string]any{"cleared": u.ID}
		} else if u.Summary != nil {
			return map[string]any{"replaced": u.ID, "summary": content.JoinText(u.Summary)}
		}
		return map[string]any{"compaction": u.ID, "status": u.Status, "error": u.Error}
	case cards.CompactionSummary:
		return map[string]any{"compaction": u.ID, "summary": u.Block.Value()}
	case cards.SessionInfo:
		return map[string]any{"title": u.Title, "updatedAt": u.UpdatedAt.UTC().Format(time.RFC3339Nano)}
	}
	return fmt.Sprintf("%T", u)
}

// TestProjectGolden plays each testdata/project/*.json: options, views by tool
// and events, and compares what is shown with the golden file beside it.
func TestProjectGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/project/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var in struct {
				Note           string
				Cwd            string
				TerminalOutput bool
				UserMessages   bool
				NestedCalls    bool
				Compactions    bool
				Finish         bool
				Events         []struct {
					Type    string
					Data    jsonvalue.Value
					Replace bool
				}
			}
			if err := json.Unmarshal(raw, &in); err != nil {
				t.Fatal(err)
			}
			p := cards.NewProjector(testTools, cards.Options{Cwd: in.Cwd, TerminalOutput: in.TerminalOutput, UserMessages: in.UserMessages, NestedCalls: in.NestedCalls, Compactions: in.Compactions})
			var out strings.Builder
			write := func(us []cards.Update) {
				for _, u := range us {
					line, err := json.Marshal(shown(u))
					if err != nil {
						t.Fatal(err)
					}
					out.Write(line)
					out.WriteByte('\n')
				}
			}
			for _, ev := range in.Events {
				write(p.Project(cards.Event{Type: ev.Type, Data: ev.Data, Replacement: ev.Replace, Time: time.UnixMilli(1783352050753)}))
			}
			if in.Finish {
				write(p.Finish())
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
			}
		})
	}
}

// testTools present what their arguments say, so that a case file is complete.
var testTools = presenters{
	call: map[string]func(jsonvalue.Value) *cards.Call{
		"term": func(a jsonvalue.Value) *cards.Call {
			return &cards.Call{Card: cards.Terminal, Title: a.GetString("command"), Description: a.GetString("description"), Cwd: a.GetString("cwd")}
		},
		"diff": func(a jsonvalue.Value) *cards.Call {
			path := a.GetString("path")
			return &cards.Call{Card: cards.Diff, Title: "Edit " + path, Locations: []cards.Location{{Path: path}}, Diffs: []cards.FileDiff{{Path: path, OldText: ptr("a"), NewText: "b"}}}
		},
		"create": func(a jsonvalue.Value) *cards.Call {
			path := a.GetString("path")
			return &cards.Call{Card: cards.Diff, Title: "Write " + path, Diffs: []cards.FileDiff{{Path: path, NewText: "b"}}}
		},
		"look": func(a jsonvalue.Value) *cards.Call {
			path := a.GetString("path")
			return &cards.Call{Card: cards.Generic, Title: "Look at " + path + " and " + path, Kind: cards.KindRead, Locations: []cards.Location{{Path: path, Line: 3}}}
		},
		"program": func(a jsonvalue.Value) *cards.Call {
			code := a.GetString("code")
			return &cards.Call{Card: cards.Generic, Title: code, Kind: cards.KindExecute, RawInput: a.Get("code"), Content: []content.Block{content.Text(cards.Fence("ts", code))}}
		},
		"panics": func(jsonvalue.Value) *cards.Call { panic("no view today") },
		"search": func(a jsonvalue.Value) *cards.Call {
			return &cards.Call{Card: cards.Generic, Title: "Search", Kind: cards.KindSearch, RawInput: a.Get("pattern")}
		},
	},
	result: map[string]func(jsonvalue.Value, cards.ResultInput) *cards.Result{
		"term": func(_ jsonvalue.Value, in cards.ResultInput) *cards.Result {
			r := &cards.Result{Card: cards.Terminal, Output: content.JoinText(in.Content), Signal: in.Meta.GetString("signal")}
			if n, ok := in.Meta.Get("exit").Int64(); ok {
				r.ExitCode = ptr(int(n))
			}
			return r
		},
		"look": func(_ jsonvalue.Value, in cards.ResultInput) *cards.Result {
			return &cards.Result{Card: cards.Terminal, Output: "there is no terminal"}
		},
		"diff": func(a jsonvalue.Value, in cards.ResultInput) *cards.Result {
			if in.IsError {
				return nil
			}
			path := a.GetString("path")
			return &cards.Result{Card: cards.Diff, Title: "Edit " + path, Diffs: []cards.FileDiff{{Path: path, OldText: ptr("1"), NewText: "2"}, {Path: path, OldText: ptr("3"), NewText: "4"}}}
		},
		"panics": func(jsonvalue.Value, cards.ResultInput) *cards.Result { panic("nor any result") },
		"titled": func(jsonvalue.Value, cards.ResultInput) *cards.Result { return &cards.Result{Title: "A new title"} },
		"search": func(a jsonvalue.Value, _ cards.ResultInput) *cards.Result {
			switch a.GetString("shape") {
			case "paths":
				return &cards.Result{Card: cards.Search, Search: &cards.SearchResult{Paths: []string{"a.go", "/w/b.go"}, Total: 7, Truncated: true}}
			case "read":
				return &cards.Result{Card: cards.Read, Read: &cards.ReadResult{Path: "a.go", Offset: 2, Lines: []cards.ReadLine{{Number: 2, Text: "x := `y`"}}, TotalLines: 9, Lang: "go"}}
			case "web":
				return &cards.Result{Card: cards.Web, Web: &cards.WebResult{Kind: "search", Sources: []cards.WebSource{{URL: "https://example.org/", Title: "Example"}}, Answer: "yes"}}
			case "fetch":
				return &cards.Result{Card: cards.Web, Web: &cards.WebResult{Kind: "fetch", URL: "https://example.org/", StatusCode: 200}}
			}
			return &cards.Result{Card: cards.Search, Search: &cards.SearchResult{Total: 2, Files: []cards.SearchFile{{Path: "a.go", Matches: []cards.SearchMatch{{LineNumber: 4, Line: "# no heading"}, {LineNumber: 9, Line: "```"}}}}}}
		},
	},
}

func TestFenceIsLongerThanAnyRunInside(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"ok\n", "```console\nok\n```"},
		{"", "```console\n\n```"},
		{"a\n\n\n", "```console\na\n```"},
		{"```\ninner\n```", "````console\n```\ninner\n```\n````"},
		{"`` ````` `", "``````console\n`` ````` `\n``````"},
	} {
		if got := cards.Fence("console", c.in); got != c.want {
			t.Errorf("Fence(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// A text that no client should have to take in one line is shown by its ends.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	p := cards.NewProjector(testTools, cards.Options{})
	event := func(typ string, data map[string]any) []cards.Update {
		return p.Project(cards.Event{Type: typ, Data: jsonvalue.MustFromGo(data)})
	}
	event("tool/call", map[string]any{"callId": "c", "name": "nothing", "arguments": "{}"})
	updates := event("tool/result", map[string]any{"callId": "c", "name": "nothing", "content": []any{map[string]any{"type": "text", "text": long}}})
	u := updates[0].(cards.ToolUpdate)
	shown, _ := u.Content[0].Block.Text()
	raw, _ := u.RawOutput.Str()
	if shown != raw || len(raw) > 256<<10+100 || !strings.HasPrefix(raw, "éé") || !strings.HasSuffix(raw, "éé") || !strings.Contains(raw, "é\n[... 1835008 bytes are not shown here ...]\né") {
		t.Errorf("%d and %d bytes", len(shown), len(raw))
	}
}
