package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

func redactorOf(t testing.TB, r Redaction) *redactor {
	t.Helper()
	red, err := newRedactor(r)
	if err != nil {
		t.Fatal(err)
	}
	return red
}

func TestWhatLooksLikeAKeyGoes(t *testing.T) {
	red := redactorOf(t, Redaction{Secrets: []string{"hunter2-and-more", "abc"}, Patterns: []string{`ACME-\d+`, `ticket (\w+)`}})
	for in, want := range map[string]string{
		"use sk-0123456789abcdef now":                   "use [redacted] now",
		"Authorization: Bearer abcdefghijklmnop":        "Authorization: Bearer [redacted]",
		`{"api_key": "0123456789abcdef"}`:               `{"api_key": "[redacted]"}`,
		"export GITHUB_TOKEN=ghp_0123456789abcdef":      "export GITHUB_TOKEN=[redacted]",
		"postgres://me:s3cret@db/x":                     "postgres://me:[redacted]@db/x",
		"AKIAABCDEFGHIJKLMNOP":                          "[redacted]",
		"hunter2-and-more":                              "[redacted]",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\nnothing": "[redacted]",
		"ACME-17 and ticket four":                       "[redacted] and ticket [redacted]",
		"abc":                                           "abc", // too short to be replaced everywhere
		"the token is short: token=x":                   "the token is short: token=x",
		"max_tokens: 8192":                              "max_tokens: 8192",
	} {
		if got := red.text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if _, err := newRedactor(Redaction{Patterns: []string{"("}}); err == nil {
		t.Error("a broken pattern is taken")
	}
	v, err := jsonvalue.ParseString(`{"sk-0123456789abcdef":1,"sk-fedcba9876543210":["Bearer abcdefghijklmnop",2.50]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := red.value(v).String(); got != `{"[redacted]":1,"[redacted]_":["Bearer [redacted]",2.50]}` {
		t.Error(got)
	}
}

// However a text is cut into pieces, a secret in it does not get out, and
// nothing else is lost.
func TestPiecesOfASecret(t *testing.T) {
	red := redactorOf(t, Redaction{})
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"plain words é", "before sk-0123456789abcdef after", "Bearer abcdefghijklmnop", ""}).Draw(rt, "text")
		s := &stream{}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			s.add(rest[:n])
			rest = rest[n:]
		}
		got := ""
		for range s.pieces {
			got += s.next(red.text)
		}
		if want := red.text(text); got != want {
			rt.Fatalf("%q from %q", got, s.pieces)
		}
	})
}

func TestLinesAreWholeAndBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var got []string
		l := lines{take: func(b []byte) { got = append(got, string(b)) }}
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab\n"))).Draw(rt, "text")
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			l.add([]byte(rest[:n]))
			rest = rest[n:]
		}
		var want []string
		whole := text[:strings.LastIndexByte(text, '\n')+1]
		for line := range strings.Lines(whole) {
			if line != "\n" {
				want = append(want, strings.TrimSuffix(line, "\n"))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("%q of %q", got, text)
		}
	})
	var got []string
	l := lines{take: func(b []byte) { got = append(got, string(b)) }}
	big := make([]byte, maxFrame/2)
	for range 3 {
		l.add(big)
	}
	l.add([]byte("\nnext\n"))
	if len(got) != 1 || got[0] != "next" {
		t.Errorf("%d lines", len(got))
	}
}

func TestTheBoundsOfASnapshot(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("a/b.txt", "sk-0123456789abcdef")
	put("bin", "\x00plain")
	put("holds", "\x00sk-0123456789abcdef")
	put("sk-0123456789abcdef.txt", "")
	put("dir-sk-0123456789abcdef/x", "")
	put(hiddenPrefix+"1/frames.jsonl", "")
	put("earlier/recording.json", "{}")
	put("earlier/session.jsonl", "")
	put("another/session.jsonl", "") // no recording
	put("node_modules/x/y.js", "")
	put("deploy.pem", "")
	put("big", strings.Repeat("x", maxFile+1))
	for link, target := range map[string]string{"in": "a/b.txt", "out": "../elsewhere", "abs": "/etc/hosts"} {
		if err := os.Symlink(target, filepath.Join(from, link)); err != nil {
			t.Fatal(err)
		}
	}
	out := snapshot(from, to, redactorOf(t, Redaction{})).String()
	for _, want := range []string{
		`{"path":"node_modules","reason":"folders of that name are not recorded"}`, `{"path":"deploy.pem","reason":"files of that name hold keys"}`,
		`{"path":"big","reason":"it is too large"}`, `{"path":"out","reason":"it is a link out of the workspace"}`, `{"path":"abs",`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "another", "session.jsonl")); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(to, "in")); err != nil || string(data) != "[redacted]" {
		t.Errorf("%q, %v", data, err)
	}
	for _, gone := range []string{"holds", "sk-0123456789abcdef.txt", "dir-sk-0123456789abcdef", hiddenPrefix + "1", "earlier"} {
		if _, err := os.Lstat(filepath.Join(to, gone)); err == nil {
			t.Errorf("%s was copied", gone)
		}
	}
	if strings.Contains(out, "0123456789abcdef") {
		t.Errorf("a key is told: %s", out)
	}
	if data, _ := os.ReadFile(filepath.Join(to, "bin")); string(data) != "\x00plain" {
		t.Errorf("a file that is no text was changed: %q", data)
	}
	if info, err := os.Stat(filepath.Join(to, "bin")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("a program is none any more: %v", err)
	}
	if got := snapshot(filepath.Join(from, "gone"), filepath.Join(to, "x"), redactorOf(t, Redaction{})); got.Len() == 0 {
		t.Error("a folder that is not there was copied")
	}
}

// event makes an event of a log.
func event(typ string, pairs ...any) session.Event {
	return session.Event{Type: typ, Data: session.Data(pairs...)}
}

func TestTheModelsPart(t *testing.T) {
	chunk := func(text string) session.Event {
		return event(session.TypeAssistantChunk, "turn", 1, "step", 1, "chunk", session.Data("type", "text-delta", "index", 0, "text", text))
	}
	failed := func(code string) jsonvalue.Value { return session.Data("message", "m", "code", code) }
	for _, c := range []struct {
		name   string
		events []session.Event
		want   []string // kind of each entry, with what matters of it
	}{
		{"an answer", []session.Event{event("step/start"), chunk("a"), event("assistant/message"), event("step/end"), event("turn/end", "reason", session.Data("kind", "completed"))}, []string{"chunks a"}},
		{"cancelled", []session.Event{event("step/start"), chunk("a"), event("step/end"), event("turn/end", "reason", session.Data("kind", "aborted"))}, []string{"hang a"}},
		{"failed at once", []session.Event{event("step/start"), event("step/end"), event("turn/end", "reason", session.Data("kind", "error", "failure", failed("AUTH")))}, []string{"throw AUTH"}},
		{"repeated", []session.Event{
			event("step/start"), chunk("a"), event("llm/retry", "delayMs", 7, "failure", failed("NETWORK")), chunk("b"), event("assistant/message"),
		}, []string{"throw a NETWORK again 7", "chunks b"}},
		{"too long, midway", []session.Event{
			event("step/start"), chunk("a"), event("compact/start", "id", "k", "trigger", "overflow"),
			event("compact/summary", "id", "k", "content", []any{session.Data("type", "text", "text", "S")}), event("compact/end", "id", "k", "status", "completed"),
			event("llm/retry", "delayMs", 0, "failure", failed("CONTEXT_LENGTH")), chunk("b"), event("assistant/message"),
		}, []string{"throw a CONTEXT_LENGTH", "chunks S", "chunks b"}},
		{"in good time", []session.Event{
			event("step/start"), event("compact/start", "id", "k", "trigger", "auto"),
			event("compact/summary", "id", "k", "content", []any{session.Data("type", "text", "text", "S")}), event("compact/end", "id", "k", "status", "completed"),
			chunk("b"), event("assistant/message"),
		}, []string{"throw CONTEXT_LENGTH", "chunks S", "chunks b"}},
		{"asked for, twice", []session.Event{
			event("compact/start", "id", "k", "trigger", "manual"), event("llm/retry", "compaction", true, "delayMs", 7, "failure", failed("NETWORK")),
			event("compact/end", "id", "k", "status", "failed", "error", failed("QUOTA")), event("compact/start", "id", "l", "trigger", "manual"), event("compact/end", "id", "l", "status", "cancelled"),
		}, []string{"throw NETWORK again 7", "throw QUOTA", "hang"}},
		{"a summary in pieces that fails", []session.Event{
			event("compact/start", "id", "k", "trigger", "manual"),
			event("compact/chunk", "id", "k", "attempt", 1, "chunk", session.Data("type", "text-delta", "text", "A")), event("llm/retry", "compaction", true, "delayMs", 7, "failure", failed("NETWORK")),
			event("compact/chunk", "id", "k", "attempt", 2, "chunk", session.Data("type", "text-delta", "text", "B")), event("compact/end", "id", "k", "status", "cancelled"),
			event("compact/start", "id", "l", "trigger", "manual"), event("compact/chunk", "id", "l", "attempt", 1, "chunk", session.Data("type", "text-delta", "text", "C")),
			event("compact/summary", "id", "l", "content", []any{session.Data("type", "text", "text", "CD")}), event("compact/end", "id", "l", "status", "completed"),
		}, []string{"throw A NETWORK again 7", "hang B", "chunks CD"}},
		{"killed", []session.Event{event("step/start"), chunk("a")}, []string{"hang a"}},
	} {
		var got []string
		for _, e := range scriptOf(c.events).entries {
			line := e.GetString("kind")
			for _, ch := range e.Get("chunks").Elements() {
				if ch.GetString("type") == "text-delta" {
					line += " " + ch.GetString("text")
				}
			}
			if code := e.GetString("code"); code != "" {
				line += " " + code
			}
			if again, _ := e.Get("retryable").Bool(); again {
				line += " again " + e.Get("waitMs").String()
			}
			got = append(got, line)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
