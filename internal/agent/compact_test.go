package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// sized is a scripted provider whose model can hold so many tokens.
type sized struct {
	*scripted
	window int64
	exact  bool
}

func (p sized) Describe(id string) model.Info {
	return model.Info{ID: id, ContextWindow: p.window, Literal: p.exact}
}

// saysUsing is an answer in words that took so many tokens.
func saysUsing(text string, tokens int64) answer {
	a := says(text)
	use := model.Chunk{Type: model.ChunkUsage, Usage: &model.Usage{InputTokens: tokens}}
	a.chunks = slices.Insert(a.chunks, len(a.chunks)-1, use)
	return a
}

func newSizedWorld(t *testing.T, window int64, cfg agent.Config, answers ...answer) *world {
	t.Helper()
	w := newWorld(t, cfg, answers...)
	return w.sized(t, window, cfg)
}

// sized gives the world's session a model of that size.
func (w *world) sized(t *testing.T, window int64, cfg agent.Config) *world {
	t.Helper()
	cfg.Log, cfg.Provider, cfg.Model, cfg.Pipeline = w.log, sized{scripted: w.model, window: window}, "m", w.pipe
	cfg.Scope = w.reg.Global().Child("sized")
	var err error
	if w.s, err = agent.NewSession(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) compactions() (out []string) {
	for _, ev := range w.log.Events() {
		switch ev.Type {
		case session.TypeCompactStart:
			out = append(out, ev.Data.GetString("trigger"))
		case session.TypeCompactEnd:
			out = append(out, ev.Data.GetString("status"))
		}
	}
	return out
}

func text(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Role) + ": " + m.Text() + "\n")
	}
	return b.String()
}

var long = strings.Repeat("All work and no play makes the conversation long. ", 100)

func TestACompactionThatIsAskedFor(t *testing.T) {
	w := newWorld(t, agent.Config{}, says(long), says(long), says("the gist"), says("on we go"), says("and on"))
	w.prompt(t, "first "+long)
	w.prompt(t, "second")
	if err := w.s.Compact(t.Context(), "keep the names"); err != nil {
		t.Fatal(err)
	}
	asked := w.model.requests[2]
	if asked.Purpose != model.PurposeSummary || len(asked.Tools) != 0 || asked.MaxTokens <= 0 || len(asked.Messages) != 1 ||
		!strings.Contains(asked.Messages[0].Text(), "first All work") || !strings.Contains(asked.Messages[0].Text(), "keep the names") {
		t.Errorf("the model was asked %+v", asked)
	}
	if got := w.types(); !strings.HasSuffix(got, "turn/end compact/start compact/summary context/message compact/end llm/usage") {
		t.Error(got)
	}
	w.prompt(t, "third")
	w.prompt(t, "fourth")
	third, fourth := w.model.requests[3].Messages, w.model.requests[4].Messages
	if s := text(third); !strings.Contains(s, "the gist") || strings.Contains(s, "first All work") || !strings.Contains(s, "second") || third[len(third)-1].Text() != "third" {
		t.Errorf("the model was sent %s", s)
	}
	// What follows grows on the summary: its beginning is the same to the byte.
	if got, want := text(fourth), text(third); !strings.HasPrefix(got, want) {
		t.Errorf("the prefix changed:\n%s\nafter\n%s", got, want)
	}
	if got := w.compactions(); !slices.Equal(got, []string{"manual", "completed"}) {
		t.Error(got)
	}
}

func TestThereMayBeNothingToCompact(t *testing.T) {
	w := newWorld(t, agent.Config{}, says("hi"))
	if err := w.s.Compact(t.Context(), ""); !errors.Is(err, agent.ErrNothingToCompact) {
		t.Errorf("%v", err)
	}
	if got := w.types(); got != "" {
		t.Errorf("something was logged: %s", got)
	}
}

func TestASummaryThatFailsChangesNothing(t *testing.T) {
	for name, bad := range map[string]answer{
		"a failure":       {err: &model.Error{Code: "QUOTA", Message: "no money left"}},
		"no words":        {chunks: []model.Chunk{model.FinishChunk(model.FinishStop)}},
		"no finish":       {chunks: []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, "half")}},
		"calls":           callsTools(model.FinishToolCalls, "c1", "echo", "{}"),
		"a refusal":       {chunks: []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, "no"), model.FinishChunk(model.FinishContentFilter)}},
		"too many words":  says(long + long + long),
		"broken protocol": {chunks: []model.Chunk{model.TextChunk(0, "a"), model.FinishChunk(model.FinishStop), model.TextChunk(0, "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, agent.Config{Backoff: model.Backoff{MaxAttempts: 1}}, says(long), says("x"), bad)
			w.prompt(t, "first "+long[:400])
			w.prompt(t, "second")
			before := text(session.Messages(w.log.Events()))
			if err := w.s.Compact(t.Context(), ""); err == nil {
				t.Error("no error")
			}
			if got := text(session.Messages(w.log.Events())); got != before {
				t.Errorf("the conversation changed to %s", got)
			}
			if got := w.compactions(); !slices.Equal(got, []string{"manual", "failed"}) {
				t.Error(got)
			}
			if len(w.ran) > 0 {
				t.Error("a call of a summary was run")
			}
			if msg := w.last(session.TypeCompactEnd).Data.Get("error").GetString("message"); msg == "" {
				t.Error("the log does not say why")
			}
		})
	}
}

func TestASummaryThatIsCancelledChangesNothing(t *testing.T) {
	w := newWorld(t, agent.Config{}, says(long), answer{chunks: []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, "half")}, hang: true})
	w.prompt(t, "first")
	before := text(session.Messages(w.log.Events()))
	ctx, cancel := context.WithCancel(t.Context())
	w.log.Subscribe(func(ev session.Event) {
		if ev.Type == session.TypeCompactStart {
			cancel()
		}
	})
	if err := w.s.Compact(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := text(session.Messages(w.log.Events())); got != before {
		t.Errorf("the conversation changed to %s", got)
	}
	if got := w.compactions(); !slices.Equal(got, []string{"manual", "cancelled"}) {
		t.Error(got)
	}
}

func TestASummaryIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, agent.Config{}, says(long+long),
			answer{err: &model.Error{Code: "OVERLOADED", Message: "busy", Retryable: true}},
			answer{err: &model.Error{Code: "CONTEXT_LENGTH", Message: "too long"}},
			says("the gist"))
		w.prompt(t, long)
		begin := time.Now()
		if err := w.s.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if time.Since(begin) < 500*time.Millisecond {
			t.Error("asked again at once")
		}
		first, last := w.model.requests[1].Messages[0].Text(), w.model.requests[3].Messages[0].Text()
		if len(last) >= len(first) {
			t.Errorf("a transcript of %d bytes was too long, and then %d are sent", len(first), len(last))
		}
		if w.last(session.TypeRetry).Data.Get("failure").GetString("message") != "busy" {
			t.Error("the wait is not in the log")
		}
	})
}

// A summary is logged while it is written, in pieces that depend on nothing but
// its text, and what comes of an attempt that fails is told from the next one.
func TestASummaryIsLoggedWhileItIsWritten(t *testing.T) {
	gist := strings.Repeat("The gist of it, é. ", 60)
	for name, size := range map[string]int{"byte by byte": 1, "in words": 7, "at once": len(gist)} {
		synctest.Test(t, func(t *testing.T) {
			broken := answer{chunks: []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, long)}, err: &model.Error{Code: "NETWORK", Message: "gone", Retryable: true}}
			whole := answer{chunks: []model.Chunk{model.StartChunk(0, model.PartText)}}
			for rest := []byte(gist); len(rest) > 0; {
				n := min(size, len(rest))
				for n < len(rest) && rest[n]&0xC0 == 0x80 {
					n++
				}
				whole.chunks = append(whole.chunks, model.TextChunk(0, string(rest[:n])))
				rest = rest[n:]
			}
			whole.chunks = append(whole.chunks, model.EndChunk(0, model.Text(gist)), model.FinishChunk(model.FinishStop))
			w := newWorld(t, agent.Config{}, says(long), says("x"), broken, whole)
			w.prompt(t, "first "+long)
			w.prompt(t, "second")
			if err := w.s.Compact(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			pieces := map[int64]string{}
			count := 0
			for _, e := range w.log.Events() {
				if e.Type != session.TypeCompactChunk {
					continue
				}
				n, _ := e.Data.Get("attempt").Int64()
				text := e.Data.Get("chunk").GetString("text")
				if !utf8.ValidString(text) || text == "" || len(text) > 240 {
					t.Errorf("%s: a piece %q", name, text)
				}
				pieces[n] += text
				count++
			}
			// What is left in the end comes with the summary.
			if !strings.HasPrefix(long, pieces[1]) || len(pieces[1]) < len(long)-240 || !strings.HasPrefix(gist, pieces[2]) || len(pieces[2]) < len(gist)-240 {
				t.Errorf("%s: %v", name, pieces)
			}
			if want := len(pieces[1])/236 + len(pieces[2])/236; count > want {
				t.Errorf("%s: %d pieces", name, count)
			}
		})
	}
}

// However many events others append meanwhile, what stands for the conversation
// names the summary as what it comes from.
func TestTheSummaryIsNamedAsTheSource(t *testing.T) {
	w := newWorld(t, agent.Config{}, says(long), says("x"), says("the gist"))
	w.prompt(t, "first "+long)
	w.prompt(t, "second")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range 5000 {
			select {
			case <-stop:
				return
			default:
				if _, err := w.log.Append(session.Draft{Type: "job/end", Data: session.Data("id", "j")}); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	err := w.s.Compact(t.Context(), "")
	close(stop)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	replaced := w.last(session.TypeContextMessage)
	if len(replaced.SourceEventSeqs) != 1 || w.log.Events()[replaced.SourceEventSeqs[0]].Type != session.TypeCompactSummary {
		t.Errorf("it comes from %v", replaced.SourceEventSeqs)
	}
}

func TestAConversationThatNearsTheLimit(t *testing.T) {
	w := newSizedWorld(t, 10_000, agent.Config{}, saysUsing(long, 7000), saysUsing("short", 7900), says("the gist"), says("after"))
	w.prompt(t, "first "+long)
	w.prompt(t, "second")
	if got := w.compactions(); got != nil {
		t.Fatalf("too early: %v", got)
	}
	w.prompt(t, "third "+long) // 7900 and this are more than 8000
	if got := w.compactions(); !slices.Equal(got, []string{"auto", "completed"}) {
		t.Fatal(got)
	}
	last := w.model.requests[3]
	if s := text(last.Messages); !strings.Contains(s, "the gist") || strings.Contains(s, "first ") || !strings.Contains(s, "third ") {
		t.Errorf("the model was sent %s", s)
	}
	w.prompt(t, "fourth")
	if got := w.compactions(); len(got) != 2 {
		t.Errorf("summarised again at once: %v", got)
	}
}

func TestWhenAConversationIsLeftAlone(t *testing.T) {
	full := []answer{saysUsing(long, 9000), says("the gist"), says("after")}
	for name, w := range map[string]*world{
		"switched off":   newSizedWorld(t, 10_000, agent.Config{Compaction: agent.Compaction{Off: true}}, full...),
		"no known limit": newSizedWorld(t, 0, agent.Config{}, full...),
		"a later limit":  newSizedWorld(t, 10_000, agent.Config{Compaction: agent.Compaction{Threshold: 95}}, full...),
	} {
		w.prompt(t, "first "+long)
		w.prompt(t, "second")
		if got := w.compactions(); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAFailedCompactionDoesNotStopTheTurn(t *testing.T) {
	w := newSizedWorld(t, 10_000, agent.Config{Backoff: model.Backoff{MaxAttempts: 1}}, saysUsing(long, 8500),
		answer{err: &model.Error{Code: "QUOTA", Message: "no money left"}}, saysUsing("it went on", 8500), saysUsing("and on", 8500))
	w.prompt(t, "first "+long)
	if stop := w.prompt(t, "second"); stop != agent.EndTurn {
		t.Error(stop)
	}
	w.prompt(t, "third")
	if got := w.compactions(); !slices.Equal(got, []string{"auto", "failed"}) {
		t.Errorf("tried again before anything changed: %v", got)
	}
}

// refused is how a provider says that a conversation is too long.
var refused = answer{err: &model.Error{Code: "CONTEXT_LENGTH", Message: "too long: compact it"}}

func TestAConversationThatIsRefused(t *testing.T) {
	midway := refused
	midway.chunks = []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, "half an ans")}
	for name, first := range map[string]answer{"at once": refused, "midway": midway} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, agent.Config{}, callsTools(model.FinishToolCalls, "c1", "echo", `{"a":"`+long+`"}`), says("ok"), first, says("the gist"), says("done"))
			w.prompt(t, "first")
			if stop := w.prompt(t, "second"); stop != agent.EndTurn {
				t.Error(stop)
			}
			if got := w.compactions(); !slices.Equal(got, []string{"overflow", "completed"}) {
				t.Error(got)
			}
			if s := text(w.model.requests[4].Messages); !strings.Contains(s, "the gist") || strings.Contains(s, "All work") || !strings.Contains(s, "second") {
				t.Errorf("the model was sent %s", s)
			}
			if len(w.ran) != 1 {
				t.Errorf("calls ran: %v", w.ran)
			}
			if retried := strings.Contains(w.types(), session.TypeRetry); retried != (name == "midway") {
				t.Errorf("a note about discarded words: %v", retried)
			}
		})
	}
}

func TestAConversationThatIsRefusedTwice(t *testing.T) {
	w := newWorld(t, agent.Config{}, says(long), refused, says("the gist"), refused)
	w.prompt(t, "first "+long)
	_, err := w.s.Prompt(t.Context(), []content.Block{content.Text("second")})
	var turn *agent.TurnError
	if !errors.As(err, &turn) || turn.Code != "CONTEXT_LENGTH" {
		t.Errorf("%v", err)
	}
	if len(w.model.requests) != 4 {
		t.Errorf("%d requests", len(w.model.requests))
	}
}

// A model that runs the prompt to the letter would run it again from the start.
func TestALiteralModelKeepsItsConversation(t *testing.T) {
	w := newWorld(t, agent.Config{}, saysUsing(long, 9000), refused)
	cfg := agent.Config{Log: w.log, Provider: sized{scripted: w.model, window: 10_000, exact: true}, Model: "m", Pipeline: w.pipe, Scope: w.reg.Global().Child("literal")}
	s, err := agent.NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.s = s
	w.prompt(t, "first "+long)
	if _, err := w.s.Prompt(t.Context(), []content.Block{content.Text("second")}); err == nil {
		t.Error("no refusal")
	}
	if got := w.compactions(); got != nil {
		t.Error(got)
	}
}
