package acp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// shellCards presents every call as a command; the result's meta may hold notes.
type shellCards struct{}

func (shellCards) PresentCall(string, jsonvalue.Value) *cards.Call {
	return &cards.Call{Card: cards.Terminal, Title: "cmd", Description: "Run it"}
}

func (shellCards) PresentResult(_ string, _ jsonvalue.Value, in cards.ResultInput) *cards.Result {
	return &cards.Result{Card: cards.Terminal, Output: content.JoinText(in.Content), Notes: in.Meta.GetString("notes")}
}

// editor is a client of one session whose call "c" runs.
type editor struct {
	mu   sync.Mutex
	proj *cards.Projector
	live *outputs
	got  []cards.ToolUpdate
	when []time.Duration
	born time.Time
	slow bool // takes nothing
}

func newEditor(terminals bool) *editor {
	e := &editor{born: time.Now(), proj: cards.NewProjector(shellCards{}, cards.Options{TerminalOutput: terminals})}
	e.live = newOutputs(&e.mu, e.proj, func(u cards.ToolUpdate) bool {
		if e.slow {
			return false
		}
		e.got, e.when = append(e.got, u), append(e.when, time.Since(e.born))
		return true
	})
	e.event("tool/call", map[string]any{"callId": "c", "name": "bash", "arguments": "{}"})
	e.event("tool/start", map[string]any{"callId": "c"})
	e.got, e.when = nil, nil
	return e
}

// event shows what an event of the log shows, as a live session does.
func (e *editor) event(typ string, data map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.proj.Project(cards.Event{Type: typ, Data: jsonvalue.MustFromGo(data)}) {
		if u, ok := e.live.settle(u).(cards.ToolUpdate); ok {
			e.got, e.when = append(e.got, u), append(e.when, time.Since(e.born))
		}
	}
}

func (e *editor) end(text, notes string) {
	e.event("tool/result", map[string]any{
		"callId": "c", "name": "bash", "isError": false, "meta": map[string]any{"notes": notes},
		"content": []any{map[string]any{"type": "text", "text": text}},
	})
}

// terminal is everything that the call's terminal was sent.
func (e *editor) terminal() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, u := range e.got {
		if u.Output != nil {
			b.WriteString(u.Output.Data)
		}
	}
	return b.String()
}

func (e *editor) streams() int {
	e.live.mu.Lock()
	defer e.live.mu.Unlock()
	return len(e.live.streams)
}

func (e *editor) frames() []cards.ToolUpdate {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// However a command's output comes, each piece that is sent is valid, all of them
// together with the end are the final text, and nothing follows the end.
func TestDeltasMakeTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aé漢😀\n ")), 0, 400, -1).Draw(rt, "text")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 60).Draw(rt, "cuts")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 20).Draw(rt, "pauses")
		stderr := rapid.Bool().Draw(rt, "stderr")
		synctest.Test(t, func(*testing.T) {
			e := newEditor(true)
			rest := []byte(text)
			for i, n := range cuts {
				n = min(n, len(rest))
				e.live.write("c", rest[:n])
				rest = rest[n:]
				time.Sleep(time.Duration(pauses[i%len(pauses)]) * time.Millisecond)
			}
			e.live.write("c", rest)
			final, notes := text+"[exit code: 1]", "[exit code: 1]"
			if stderr { // then the final text is no copy of what came
				final = "[stderr]\n" + final
			}
			e.end(final, notes)
			e.live.write("c", []byte("late"))
			time.Sleep(time.Second)
			e.live.close()
			want := strings.TrimSuffix(final, notes)
			if stderr && strings.TrimPrefix(e.terminal(), "[stderr]\n") == e.terminal() {
				want = text // it was seen as it came
			}
			if got := e.terminal(); strings.TrimSuffix(strings.TrimSuffix(got, notes), "\n") != strings.TrimSuffix(want, "\n") || !strings.HasSuffix(got, notes) {
				rt.Fatalf("the terminal shows %q, want %q", got, want+notes)
			}
			frames := e.frames()
			for i, u := range frames {
				if u.Output != nil && !utf8.ValidString(u.Output.Data) {
					rt.Fatalf("frame %d is no UTF-8: %q", i, u.Output.Data)
				}
				if ended := u.Status == cards.Completed; ended != (i == len(frames)-1) {
					rt.Fatalf("frame %d of %d has the status %q", i, len(frames), u.Status)
				}
			}
		})
	})
}

func TestInvalidBytesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(true)
		for _, b := range []byte("a\xff\xc3") {
			e.live.write("c", []byte{b})
		}
		time.Sleep(time.Second)
		e.live.write("c", []byte("\xa9\xe6"))
		time.Sleep(time.Second)
		e.live.close()
		if got := e.terminal(); got != "a\uFFFDé" {
			t.Errorf("%q", got)
		}
	})
}

// The first bytes are shown at once, and what comes close together in one frame.
func TestDeltasCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(true)
		for range 100 {
			e.live.write("c", []byte("x"))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		e.live.write("c", []byte("y"))
		time.Sleep(time.Second)
		e.live.close()
		// A byte that comes just when a frame leaves may go with it or begin the next.
		if n := len(e.when); n < 4 || n > 6 || e.when[0] != 30*time.Millisecond || e.when[n-1] != 1130*time.Millisecond {
			t.Errorf("frames at %v", e.when)
		}
		if got := e.terminal(); got != strings.Repeat("x", 100)+"y" {
			t.Errorf("%q", got)
		}
	})
}

// Editors without terminals get the end of the output among the content, first
// at once, then four times a second, then ever more rarely.
func TestTextCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(false)
		for i := range 60_000 {
			e.live.write("c", fmt.Appendf(nil, "line %d\n", i))
			time.Sleep(time.Millisecond)
		}
		e.live.close()
		frames := e.frames()
		if e.when[0] != 30*time.Millisecond || len(frames) < 30 || len(frames) > 90 {
			t.Fatalf("%d frames, the first at %v", len(frames), e.when[0])
		}
		for i := range frames[1:] {
			if gap := e.when[i+1] - e.when[i]; gap < 250*time.Millisecond || gap > 5*time.Second {
				t.Errorf("%v between frames %d and %d", gap, i, i+1)
			}
		}
		for _, u := range frames {
			if u.Output != nil || u.Status != "" || len(u.Content) != 2 {
				t.Fatalf("%+v", u)
			}
			description, _ := u.Content[0].Block.Text()
			text, _ := u.Content[1].Block.Text()
			if description != "Run it" || len(text) > tailBytes+100 || !strings.HasPrefix(text, "```console\n") {
				t.Fatalf("%q, %q", description, text)
			}
		}
		first, _ := frames[0].Content[1].Block.Text()
		last, _ := frames[len(frames)-1].Content[1].Block.Text()
		if !strings.HasPrefix(first, "```console\nline 0\nline 1\n") || !strings.HasPrefix(last, "```console\n[... ") || !strings.Contains(last, " bytes above ...]\nline ") {
			t.Errorf("first %.60q, last %.60q", first, last)
		}
	})
}

// A command that floods its output sends a bounded part of it, its end among it,
// and the last update completes it.
func TestAFloodIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(true)
		line := []byte(strings.Repeat("0123456789abcde\n", 2000))
		for range 30_000 { // 960 MB in 30 s
			e.live.write("c", line)
			time.Sleep(time.Millisecond)
		}
		head, end := strings.Repeat("0123456789abcde\n", 1000), "the end\n"
		final := head + "[... 944000000 bytes omitted ...]\n" + end + "[exit code: 1]"
		e.end(final, "[exit code: 1]")
		e.live.close()
		got := e.terminal()
		if len(got) > outputTotal+2*outputWindow || len(got) < outputTotal/2 {
			t.Errorf("%d bytes were sent", len(got))
		}
		if !strings.HasSuffix(got, "\n"+final) {
			t.Errorf("it ends with %q", got[len(got)-200:])
		}
		if !strings.Contains(got, " bytes of output skipped ...]\n0123456789abcde\n") || strings.Count(got, "when the command has ended") != 1 {
			t.Error("what was left out is not said")
		}
		if n := len(e.frames()); n > 300 {
			t.Errorf("%d frames", n)
		}
	})
}

// A client that takes nothing holds nobody up, and gets everything in the end.
func TestASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(true)
		e.slow = true
		began := time.Now()
		for range 100 {
			e.live.write("c", bytes.Repeat([]byte("x\n"), 4<<10))
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the command waited %v", d)
		}
		time.Sleep(time.Minute)
		e.mu.Lock()
		if s := e.live.streams["c"]; len(s.window) > outputWindow {
			t.Errorf("%d bytes wait", len(s.window))
		}
		e.mu.Unlock()
		e.end("all of it", "")
		e.live.close()
		if got := e.terminal(); got != "all of it" {
			t.Errorf("%.100q", got)
		}
	})
}

// Nothing is kept of calls that have ended or that nobody knows.
func TestStreamsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(true)
		e.live.write("c", []byte("x"))
		e.live.write("nobody", []byte("x"))
		e.end("x", "")
		e.live.write("c", []byte("late"))
		time.Sleep(time.Second)
		if n := e.streams(); n != 0 {
			t.Errorf("%d streams are left", n)
		}
		e.live.close()
		e.live.write("c", []byte("after the end"))
		if n := e.streams(); n != 0 {
			t.Errorf("%d streams after the end", n)
		}
	})
}

func TestRest(t *testing.T) {
	for _, c := range []struct {
		name        string
		final, note string
		s           cards.Streamed
		want        string
	}{
		{"nothing was streamed", "all\n[exit code: 1]", "[exit code: 1]", cards.Streamed{Whole: true}, "all\n[exit code: 1]"},
		{"everything was", "all\n", "", cards.Streamed{Text: "all\n", Whole: true}, ""},
		{"the beginning was", "all of it", "", cards.Streamed{Text: "all ", Whole: true, Pending: "of"}, "of it"},
		{"but the status", "all\n[exit code: 1]", "[exit code: 1]", cards.Streamed{Text: "all\n", Whole: true}, "[exit code: 1]"},
		{"in another order", "out\n[stderr]\nerr\n[exit code: 1]", "[exit code: 1]", cards.Streamed{Text: "err\nou", Whole: true, Pending: "t"}, "t\n[exit code: 1]"},
		{"in another order, without a status", "out\n[stderr]\nerr\n", "", cards.Streamed{Text: "err\nout\n", Whole: true}, ""},
		{"shortened", "a\n(Omitted)", "", cards.Streamed{Text: "a\nb\n", Whole: true}, ""},
		{"with a gap", "a\nb\n[...]\ny\nz\n", "", cards.Streamed{Text: "a\nb\nc\n[skipped]\nm", Whole: true, Gap: true}, "\n[...]\ny\nz\n"},
		{"stopped", "a\nb\n[...]\ny\nz\n", "", cards.Streamed{Text: "a\nb\nc\n", Gap: true}, "\n[...]\ny\nz\n"},
		{"with a gap at once", "a\nb\n", "", cards.Streamed{Text: "[skipped]\nb\n", Whole: true, Gap: true}, "a\nb\n"},
	} {
		if got := (cards.TerminalOutput{Data: c.final, Notes: c.note}).Rest(c.s); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
