package spill

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	scope  *registry.Scope
	events *[]string
}

func (a agent) Record(typ string, data jsonvalue.Value) error {
	*a.events = append(*a.events, typ+" "+data.String())
	return nil
}

func (a agent) AgentID() string        { return "s" }
func (a agent) Scope() *registry.Scope { return a.scope }

// world has the tools "print", "read", "fail" and "picture", all of which give
// the text of their argument, and "outer", which calls print.
type world struct {
	dir    string
	pipe   *pipeline.Pipeline
	scope  *registry.Scope
	events []string
}

func newWorld(t *testing.T, limit int64, before ...pipeline.PostFunc) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: filepath.Join(t.TempDir(), "session", "results"), scope: reg.Global().Child("s")}
	if w.pipe, err = pipeline.New(reg, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"print", "read", "fail", "picture", "outer"} {
		_, err := reg.Global().Register(registry.Definition{
			Name: name, Description: name, RawParameters: jsonvalue.MustFromGo(map[string]any{"type": "object"}),
			Output: registry.Output{
				Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
				Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
					s, _ := v.Str()
					blocks := []content.Block{content.Text(s)}
					if name == "picture" {
						b, err := content.FromValue(jsonvalue.MustFromGo(map[string]any{"type": "image", "mimeType": "image/png", "data": "AAAA"}))
						if err != nil {
							return nil, err
						}
						blocks = append(blocks, b)
					}
					return blocks, nil
				},
			},
			Execute: func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
				switch name {
				case "fail":
					return jsonvalue.Value{}, errors.New(args.GetString("text"))
				case "outer":
					r := w.pipe.Execute(ctx, pipeline.Call{ID: "n", Name: "print", Arguments: args, Agent: run.Execution().Agent(), Parent: run.Execution().Token()})
					return jsonvalue.String(strconv.Itoa(len(r.Text()))), nil
				}
				return args.Get("text"), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range before {
		if _, err := w.pipe.OnPostExecute(w.scope, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := Install(w.scope, w.pipe, Options{MaxInline: limit, Dir: w.dir}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) call(name, text string) *registry.Result {
	return w.pipe.Execute(context.Background(), pipeline.Call{
		ID: "c", Name: name, Agent: agent{w.scope, &w.events},
		Arguments: jsonvalue.Object(jsonvalue.Member{Key: "text", Value: jsonvalue.String(text)}),
	})
}

func (w *world) files(t *testing.T) []string {
	t.Helper()
	fs, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

var notice = regexp.MustCompile(`\n\n\(Omitted (\d+) bytes\. Full formatted result stored at: (.+)\. Use read with offset/limit, or grep this path to search within it\.\)$`)

func TestALongResult(t *testing.T) {
	w := newWorld(t, 800)
	whole := "SPILL_START-" + strings.Repeat("x", 2000) + "-SPILL_END"
	got := w.call("print", whole)
	m := notice.FindStringSubmatch(got.Text())
	if m == nil || got.IsError() {
		t.Fatalf("no notice: %s", got.Text())
	}
	if stored, err := os.ReadFile(m[2]); err != nil || string(stored) != whole {
		t.Errorf("stored: %d bytes, %v", len(stored), err)
	}
	if want := `tool/spill {"callId":"c","path":"` + m[2] + `","bytes":` + strconv.Itoa(len(whole)) + `}`; len(w.events) != 1 || w.events[0] != want {
		t.Errorf("events %q, want %q", w.events, want)
	}
	if info, err := os.Stat(m[2]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v, %v", info.Mode(), err)
	}
	if !strings.HasSuffix(m[2], "-print.txt") || filepath.Dir(m[2]) != w.dir {
		t.Errorf("stored at %s", m[2])
	}
	kept := strings.TrimSuffix(got.Text(), m[0])
	if !strings.HasPrefix(kept, "SPILL_START-xxx") || !strings.HasSuffix(kept, "xxx-SPILL_END") {
		t.Errorf("kept %s", kept)
	}
	if omitted, _ := strconv.Atoi(m[1]); omitted != len(whole)-len(kept) || len(got.Text()) != 800 {
		t.Errorf("omitted %d of %d, kept %d, %d in all", omitted, len(whole), len(kept), len(got.Text()))
	}
	if v, _ := got.Value().Str(); v != whole {
		t.Error("the value changed")
	}
}

func TestWhatStays(t *testing.T) {
	long := strings.Repeat("y", 3000)
	for _, c := range []struct {
		name, tool, text string
		limit            int64
		want             string
	}{
		{"a short result", "print", "short", 800, "short"},
		{"one of just the limit", "print", long[:800], 800, long[:800]},
		{"the tool read", "read", long, 800, long},
		{"a program's call", "outer", long, 800, "3000"},
		{"content that is not all text", "picture", long, 800, long},
		{"no limit", "print", long, 0, long},
		{"a limit that the notice does not fit in", "print", long, 60, long},
	} {
		w := newWorld(t, c.limit)
		if got := w.call(c.tool, c.text); !strings.HasPrefix(got.Text(), c.want) {
			t.Errorf("%s: %.300s", c.name, got.Text())
		}
		if fs := w.files(t); len(fs) > 0 || len(w.events) > 0 {
			t.Errorf("%s: left %v", c.name, fs)
		}
	}
}

func TestAFailureStaysAFailure(t *testing.T) {
	got := newWorld(t, 800).call("fail", strings.Repeat("z", 3000))
	if !got.IsError() || !notice.MatchString(got.Text()) || len(got.Text()) != 800 {
		t.Errorf("%v %s", got.IsError(), got.Text())
	}
}

// When the file cannot be written the model gets everything.
func TestAFullDisk(t *testing.T) {
	w := newWorld(t, 800)
	if err := os.WriteFile(filepath.Dir(w.dir), nil, 0o600); err != nil {
		t.Fatal(err) // a file where the folder would be
	}
	long := strings.Repeat("y", 3000)
	if got := w.call("print", long); got.Text() != long {
		t.Errorf("%.300s", got.Text())
	}
}

// It comes last: what another listener put in place of the content is what is
// stored, and what one blocked or replaced is left alone.
func TestOtherListenersComeFirst(t *testing.T) {
	long := strings.Repeat("y", 3000)
	for _, c := range []struct {
		name    string
		decide  pipeline.PostDecision
		spilled bool
	}{
		{"other content", pipeline.Accept().WithContent(content.Text(strings.Repeat("other ", 500))), true},
		{"other short content", pipeline.Accept().WithContent(content.Text("other")), false},
		{"another value", pipeline.Accept().WithValue(jsonvalue.String(strings.Repeat("other ", 500))), false},
		{"blocked", pipeline.Block(content.Text(strings.Repeat("other ", 500))), false},
	} {
		w := newWorld(t, 800, func(context.Context, *registry.Execution, *registry.Result, pipeline.PostNext) (pipeline.PostDecision, error) {
			return c.decide, nil
		})
		got := w.call("print", long)
		if m := notice.FindStringSubmatch(got.Text()); (m != nil) != c.spilled || !strings.HasPrefix(got.Text(), "other") {
			t.Errorf("%s: %.200s", c.name, got.Text())
		}
	}
}

// The two ends and the notice never exceed the limit, waste next to none of it,
// and are whole characters.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"a", "é", "漢", "😀", "a😀é\n"}).Draw(t, "unit")
		text := strings.Repeat(unit, rapid.IntRange(300, 3000).Draw(t, "times"))
		limit := rapid.IntRange(100, len(text)-1).Draw(t, "limit")
		got, ok := shorten(text, "/p", limit)
		if !ok {
			if limit > 250 {
				t.Fatalf("no room in %d bytes", limit)
			}
			return
		}
		m := notice.FindStringSubmatch(got)
		if m == nil || len(got) > limit || len(got) < limit-8 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of %d: %q", len(got), limit, got)
		}
		kept := strings.TrimSuffix(got, m[0])
		omitted, _ := strconv.Atoi(m[1])
		if omitted != len(text)-len(kept) {
			t.Fatalf("omitted %d, kept %d of %d", omitted, len(kept), len(text))
		}
		// The kept text is a beginning and an end of the whole.
		for i := 0; ; i++ {
			if strings.HasPrefix(text, kept[:i]) && strings.HasSuffix(text, kept[i:]) {
				break
			}
			if i == len(kept) {
				t.Fatalf("%q is not the two ends", kept)
			}
		}
	})
}

// What the log keeps of a program's call is shortened the same way, that of read
// too; what is short, or no text, stays.
func TestTheLogOfAProgramsCall(t *testing.T) {
	w := newWorld(t, 800)
	reg := w.scope.Registry()
	exec, err := reg.Begin(registry.ExecutionSpec{CallID: "c:code:1", Name: "read"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{MaxInline: 800, Dir: w.dir}
	whole := strings.Repeat("z", 3000)
	got := content.JoinText(o.Logged(exec, []content.Block{content.Text(whole)}))
	m := notice.FindStringSubmatch(got)
	if m == nil || len(got) != 800 {
		t.Fatalf("%d bytes: %s", len(got), got)
	}
	if stored, err := os.ReadFile(m[2]); err != nil || string(stored) != whole {
		t.Errorf("stored: %d bytes, %v", len(stored), err)
	}
	picture, err := content.FromValue(jsonvalue.MustFromGo(map[string]any{"type": "image", "mimeType": "image/png", "data": "AAAA"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, blocks := range map[string][]content.Block{
		"short": {content.Text("x")}, "nothing": nil, "a picture": {content.Text(whole), picture},
	} {
		if o.Logged(exec, blocks) != nil {
			t.Errorf("%s is changed", name)
		}
	}
	if (Options{Dir: w.dir}).Logged(exec, []content.Block{content.Text(whole)}) != nil {
		t.Error("the policy is off, and works")
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if (Options{MaxInline: 800, Dir: filepath.Join(blocked, "x")}).Logged(exec, []content.Block{content.Text(whole)}) != nil {
		t.Error("a text that cannot be stored is lost")
	}
}
