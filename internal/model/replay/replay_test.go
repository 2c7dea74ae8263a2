package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

func scenario(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "..", "testdata", "transcripts"}, parts...)...)
}

// ask sends one request and returns the answer's text and how it ended.
func ask(ctx context.Context, p *Provider, sessionID string) (string, error) {
	var a model.Accumulator
	for c, err := range p.Stream(ctx, model.Request{SessionID: sessionID}) {
		if err != nil {
			return a.Text(), err
		}
		if err := a.Add(c); err != nil {
			return "", err
		}
	}
	text := a.Text()
	for _, c := range a.ToolCalls() {
		text += fmt.Sprintf("[%s %s %s]", c.ID, c.Name, c.Arguments)
	}
	if a.Finish() != nil {
		text += "|" + string(a.Finish().Kind)
	}
	return text, nil
}

func wantAnswer(t *testing.T, p *Provider, sessionID, want string) {
	t.Helper()
	got, err := ask(context.Background(), p, sessionID)
	if err != nil || got != want {
		t.Errorf("session %s: %q, %v; want %q", sessionID, got, err, want)
	}
}

// wantFailure expects a failure of replay's own.
func wantFailure(t *testing.T, p *Provider, sessionID, want string) {
	t.Helper()
	got, err := ask(context.Background(), p, sessionID)
	var e *model.Error
	if !errors.As(err, &e) || e.Code != ErrorCode || !strings.Contains(e.Message, want) || got != "" {
		t.Errorf("session %s: %q, error %v; want %q", sessionID, got, err, want)
	}
}

func TestAnswersInOrder(t *testing.T) {
	p := New(Config{Script: scenario("two-reads", "session.jsonl")})
	wantAnswer(t, p, "live", `[call_a read {"file_path": "a.txt"}][call_b read {"file_path": "b.txt"}]|tool-calls`)
	wantAnswer(t, p, "live", "alpha, then beta|stop")
	wantAnswer(t, p, "live", "Gladly.|stop")
	wantFailure(t, p, "live", "request 4 goes beyond the recording")
	wantFailure(t, p, "live", "request 5 goes beyond")
}

func TestSessionsBindInOrderOfTheirFirstRequest(t *testing.T) {
	p := New(Config{
		Script: scenario("delegation", "session.jsonl"),
		// In the wrong order on purpose: createdAt decides.
		Children: []string{scenario("delegation", "session.2.jsonl"), scenario("delegation", "session.1.jsonl")},
	})
	wantAnswer(t, p, "parent", "Noted.|stop")
	if got, err := ask(context.Background(), p, "parent"); err != nil || !strings.HasSuffix(got, "tool-calls") {
		t.Fatalf("%q, %v", got, err)
	}
	wantAnswer(t, p, "kid A", "one|stop")
	wantAnswer(t, p, "kid B", "plum|stop") // begins at seedLength
	wantFailure(t, p, "kid C", "all 3 scripts belong to other sessions")
	wantAnswer(t, p, "parent", "one, plum|stop")
	wantFailure(t, p, "kid A", "request 2 goes beyond")
}

func TestChildrenOfOneTimeBindById(t *testing.T) {
	dir := t.TempDir()
	child := func(id, word string) string {
		file := filepath.Join(dir, id+".jsonl")
		text := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":7}
{"type":"assistant/chunk","seq":0,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":%q}}}
{"type":"assistant/chunk","seq":1,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
`, id, word)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	p := New(Config{Script: child("p", "P"), Children: []string{child("b", "B"), child("a", "A")}})
	for i, want := range []string{"P|stop", "A|stop", "B|stop"} {
		wantAnswer(t, p, fmt.Sprint("live", i), want)
	}
}

func TestGroupWithoutFinish(t *testing.T) {
	p := New(Config{Script: scenario("cut-short", "session.jsonl")})
	wantFailure(t, p, "live", "has no finish")
}

func TestHangWaitsForCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Script: scenario("cut-short", "session.jsonl"), Override: scenario("cut-short", "replay.override.json")})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		got, err := ask(ctx, p, "live")
		if got != "partial" || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("%q, %v after %v", got, err, time.Since(start))
		}
	})
}

func TestThrow(t *testing.T) {
	p := New(Config{Script: scenario("server-error", "session.jsonl"), Override: scenario("server-error", "replay.override.json")})
	got, err := ask(context.Background(), p, "live")
	var e *model.Error
	if got != "Half an" || !errors.As(err, &e) || e.Code != "OVERLOADED" || e.Error() != "the recorded server is overloaded" || e.Retryable {
		t.Errorf("%q, %#v", got, err)
	}
}

func TestAbortIsCheckedBeforeEachChunk(t *testing.T) {
	p := New(Config{Script: scenario("hello", "session.jsonl")})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for _, err := range p.Stream(ctx, model.Request{SessionID: "live"}) {
		if last = err; err != nil {
			continue
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d chunks, then %v", n, last)
	}
	// The answer is used up all the same.
	wantFailure(t, p, "live", "request 2")
}

func TestReaderMayStop(t *testing.T) {
	p := New(Config{Script: scenario("hello", "session.jsonl")})
	for range p.Stream(context.Background(), model.Request{SessionID: "live"}) {
		break
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := scenario("hello", "session.jsonl")
	tests := []struct {
		name   string
		config Config
		want   string
	}{
		{"nothing configured", Config{}, "model.replay.script"},
		{"script", Config{Script: filepath.Join(dir, "none.jsonl")}, "none.jsonl does not exist"},
		{"child", Config{Script: good, Children: []string{filepath.Join(dir, "none.1.jsonl")}}, "none.1.jsonl does not exist"},
		{"override", Config{Script: good, Override: filepath.Join(dir, "none.json")}, "none.json does not exist"},
		{"corrupt", Config{Script: write("bad.jsonl", "x\n")}, "bad.jsonl:1:"},
		{"not an array", Config{Script: good, Override: write("o.json", "{}")}, "array of entries"},
		{"not JSON", Config{Script: good, Override: write("p.json", "[")}, "p.json: invalid JSON"},
		{"unknown kind", Config{Script: good, Override: write("q.json", `[{"kind":"sing"}]`)}, `entry 1: the kind must be`},
		{"no chunks", Config{Script: good, Override: write("r.json", `[{"kind":"hang"},{"kind":"chunks"}]`)}, `entry 2: needs an array`},
		{"no message", Config{Script: good, Override: write("s.json", `[{"kind":"throw","chunks":[]}]`)}, `"message"`},
		{"bad chunk", Config{Script: good, Override: write("t.json", `[{"kind":"chunks","chunks":[{"type":"usage"}]}]`)}, "chunks[0]: usage chunk"},
		{"no finish", Config{Script: good, Override: write("u.json", `[{"kind":"chunks","chunks":[]}]`)}, "no finish"},
		{"chunks after the finish", Config{Script: good, Override: write("v.json", `[{"kind":"chunks","chunks":[{"type":"finish","reason":{"kind":"stop"}},{"type":"text-delta","index":0,"text":"x"}]}]`)}, "entry 1: chunks follow the finish: chunks[0] ends"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := New(tt.config)
			wantFailure(t, p, "live", tt.want)
			if err := p.Check(); err == nil {
				t.Error("Check is content")
			}
		})
	}
	if err := New(Config{Script: good}).Check(); err != nil {
		t.Error(err)
	}
}

func TestCatalogue(t *testing.T) {
	p := New(Config{})
	infos, err := p.Models(context.Background())
	if err != nil || p.ProviderID() != "deepseek" || len(infos) != 2 || infos[0].ID != "deepseek-v4-flash" || infos[1].Title() != "deepseek-v4-pro" {
		t.Errorf("%s %+v %v", p.ProviderID(), infos, err)
	}
	p = New(Config{Models: []string{"x"}, ProviderID: "y"})
	if infos, _ := p.Models(context.Background()); p.ProviderID() != "y" || len(infos) != 1 || infos[0].ID != "x" {
		t.Errorf("%s %+v", p.ProviderID(), infos)
	}
}

// Every recorded scenario beside the repository can be played to its end.
func TestRecordedScenarios(t *testing.T) {
	dir := os.Getenv("DSH_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "transcripts")
	}
	scripts, _ := filepath.Glob(filepath.Join(dir, "*", "session.jsonl"))
	if len(scripts) == 0 {
		t.Skip("no recorded scenarios here: set DSH_TRANSCRIPTS to their folder")
	}
	for _, script := range scripts {
		c := Config{Script: script}
		if override := filepath.Join(filepath.Dir(script), "replay.override.json"); exists(override) {
			c.Override = override
		}
		c.Children, _ = filepath.Glob(filepath.Join(filepath.Dir(script), "session.*.jsonl"))
		p := New(c)
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		for i, s := range p.scripts {
			for j, e := range s.entries {
				if e.broken != nil {
					t.Errorf("%s: script %d answer %d: %v", script, i, j+1, e.broken)
				}
			}
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func FuzzOverride(f *testing.F) {
	for _, name := range []string{"cut-short", "server-error"} {
		if data, err := os.ReadFile(scenario(name, "replay.override.json")); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte(`[{"kind":"chunks","chunks":[{"type":"finish","reason":{"kind":"stop"}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseOverride(data)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.kind == kindChunks && e.chunks[len(e.chunks)-1].Type != model.ChunkFinish {
				t.Fatalf("an entry without finish: %+v", e)
			}
			if (e.kind == kindThrow) != (e.failure != nil) {
				t.Fatalf("a throw without failure: %+v", e)
			}
		}
	})
}
