package cards_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// told is what an editor is told of these events: type and data, in turn.
func told(compactions bool, events ...any) string {
	p := cards.NewProjector(presenters{}, cards.Options{Compactions: compactions})
	var lines []string
	for i := 0; i+1 < len(events); i += 2 {
		for _, u := range p.Project(cards.Event{Type: events[i].(string), Data: jsonvalue.MustFromGo(events[i+1])}) {
			line, _ := json.Marshal(shown(u))
			lines = append(lines, string(line))
		}
	}
	return strings.Join(lines, "\n")
}

type m = map[string]any

func piece(attempt int, text string) m {
	return m{"id": "k", "attempt": attempt, "chunk": m{"type": "text-delta", "text": text}}
}

func summary(text string) m { return m{"id": "k", "content": []any{m{"type": "text", "text": text}}} }

// A summary grows while it is written. What a failed attempt has written is taken
// back.
func TestASummaryIsShownWhileItIsWritten(t *testing.T) {
	start, done := m{"id": "k", "trigger": "manual"}, m{"id": "k", "status": "completed"}
	retry := m{"turn": 3, "step": 0, "compaction": true, "attempt": 2, "maxAttempts": 4, "delayMs": 7, "failure": m{"message": "gone"}}
	begun, over := `{"compaction":"k","error":"","status":"in_progress"}`, `{"compaction":"k","error":"","status":"completed"}`
	part := func(s string) string { return `{"compaction":"k","summary":{"type":"text","text":"` + s + `"}}` }
	note := `{"id":"k","message":{"text":"\n\n[Previous model attempt discarded; retrying 2/4 in 7ms: gone]\n\n","type":"text"},"role":0}`
	for name, c := range map[string]struct {
		events []any
		want   []string
	}{
		"short":     {[]any{"compact/start", start, "compact/summary", summary("S"), "compact/end", done}, []string{begun, part("S"), over}},
		"in pieces": {[]any{"compact/start", start, "compact/chunk", piece(1, "a"), "compact/chunk", piece(1, "b"), "compact/summary", summary("abc"), "compact/end", done}, []string{begun, part("a"), part("b"), part("c"), over}},
		"all shown": {[]any{"compact/start", start, "compact/chunk", piece(1, "a"), "compact/summary", summary("a"), "compact/end", done}, []string{begun, part("a"), over}},
		"another attempt": {
			[]any{"compact/start", start, "compact/chunk", piece(1, "a"), "llm/retry", retry, "compact/chunk", piece(2, "b"), "compact/summary", summary("bc"), "compact/end", done},
			[]string{begun, part("a"), note, `{"cleared":"k"}`, part("b"), part("c"), over},
		},
		"a short one after another": {
			[]any{"compact/start", start, "compact/chunk", piece(1, "a"), "compact/summary", summary("b"), "compact/end", done},
			[]string{begun, part("a"), `{"replaced":"k","summary":"b"}`, over},
		},
		"of another compaction": {[]any{"compact/start", start, "compact/chunk", m{"id": "l", "attempt": 1, "chunk": m{"text": "x"}}, "compact/summary", summary("S"), "compact/end", done}, []string{begun, part("S"), over}},
		"after the end":         {[]any{"compact/start", start, "compact/end", done, "compact/chunk", piece(1, "a")}, []string{begun, over}},
	} {
		got, want := told(true, c.events...), strings.Join(c.want, "\n")
		if canonical(got) != canonical(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Others are told how far it has got, in a few lines of one message.
func TestOthersAreToldHowFarASummaryIs(t *testing.T) {
	events := []any{"compact/start", m{"id": "k", "trigger": "auto"}}
	for range 140 {
		events = append(events, "compact/chunk", piece(1, strings.Repeat("x", 240)))
	}
	got := told(false, append(events, "compact/summary", summary("S"), "compact/end", m{"id": "k", "status": "completed"})...)
	lines := strings.Split(got, "\n")
	if len(lines) != 7 || strings.Contains(got, "xxx") {
		t.Errorf("%d lines:\n%s", len(lines), got)
	}
	for i, n := range []string{"500", "1000", "2000", "4000", "8000"} {
		if i+1 >= len(lines) || !strings.Contains(lines[i+1], "About "+n+" tokens") || !strings.Contains(lines[i+1], `"id":"k"`) {
			t.Errorf("line %d does not tell of %s", i+1, n)
		}
	}
}

func canonical(lines string) string {
	var out []string
	for _, l := range strings.Split(lines, "\n") {
		var v any
		_ = json.Unmarshal([]byte(l), &v)
		b, _ := json.Marshal(v)
		out = append(out, string(b))
	}
	return strings.Join(out, "\n")
}
