package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

func steering(session, text string) string {
	return strings.Replace(promptOf(session, text), `{`, `{"_meta":{"dsh/steer":true},`, 1)
}

// gate makes the model wait before each answer until the test lets it.
func (h *harness) gate() (asked <-chan model.Request, let chan<- string) {
	a, l := make(chan model.Request, 64), make(chan string)
	h.backend.model.answer = func(ctx context.Context, req model.Request, yield func(model.Chunk, error) bool) {
		a <- req
		select {
		case text := <-l:
			says(text, yield)
		case <-ctx.Done():
			yield(model.Chunk{}, ctx.Err())
		}
	}
	return a, l
}

// turns lists the types of a session's events that tell how its turns went, with
// the texts of the person.
func (h *harness) turns(session_ string) []string {
	h.t.Helper()
	l, perr := h.server.session(session_)
	if perr != nil {
		h.t.Fatal(perr)
	}
	var out []string
	for _, ev := range l.agent.Log().Kept() {
		switch ev.Type {
		case session.TypeTurnStart, session.TypePromptBlocked:
			out = append(out, ev.Type)
		case session.TypeTurnEnd:
			out = append(out, ev.Type+" "+ev.Data.Get("reason").GetString("kind"))
		case session.TypeUserMessage, session.TypeSteeringMessage:
			out = append(out, ev.Type+" "+ev.Data.Get("content").At(0).GetString("text"))
		}
	}
	return out
}

// until waits for something of a session that no frame tells.
func (h *harness) until(session_ string, pred func(*liveSession) bool) {
	h.t.Helper()
	l, perr := h.server.session(session_)
	if perr != nil {
		h.t.Fatal(perr)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		l.mu.Lock()
		ok := pred(l)
		l.mu.Unlock()
		if ok {
			return
		}
	}
	h.t.Fatal("waited in vain")
}

func TestSteeringGoesIntoTheRunningTurn(t *testing.T) {
	h := newHarness(t, `{}`)
	asked, let := h.gate()
	s := h.open()
	first := h.request("session/prompt", promptOf(s, "one"))
	<-asked
	second := h.request("session/prompt", steering(s, "and two"))
	third := h.request("session/prompt", promptOf(s, "three"))
	h.until(s, func(l *liveSession) bool { return len(l.jobs) == 3 })
	let <- "first answer"
	req := <-asked
	if last := req.Messages[len(req.Messages)-1]; last.Text() != "and two" || last.Origin != model.OriginSteering {
		t.Errorf("the model reads %+v", last)
	}
	let <- "second answer"
	for _, id := range []string{first, second} {
		if f := h.reply(id); string(f["result"]) != `{"stopReason":"end_turn"}` {
			t.Errorf("%s: %s %s", id, f["result"], f["error"])
		}
	}
	<-asked
	let <- "third answer"
	if f := h.reply(third); string(f["result"]) != `{"stopReason":"end_turn"}` {
		t.Errorf("%s %s", f["result"], f["error"])
	}
	want := []string{"turn/start", "user/message one", "steering/message and two", "turn/end completed", "turn/start", "user/message three", "turn/end completed"}
	if got := h.turns(s); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAClientMaySteerAlways(t *testing.T) {
	h := newHarness(t, `{"_meta":{"dsh/steer":true}}`)
	asked, let := h.gate()
	s := h.open()
	first := h.request("session/prompt", promptOf(s, "one"))
	<-asked
	h.request("session/prompt", promptOf(s, "two"))
	later := h.request("session/prompt", strings.Replace(promptOf(s, "three"), `{`, `{"_meta":{"dsh/steer":false},`, 1))
	command := h.request("session/prompt", promptOf(s, "/status"))
	h.until(s, func(l *liveSession) bool { return len(l.jobs) == 4 })
	for range 3 {
		let <- "answer"
	}
	h.reply(first)
	h.reply(later)
	h.reply(command)
	want := []string{"turn/start", "user/message one", "steering/message two", "turn/end completed", "turn/start", "user/message three", "turn/end completed"}
	if got := h.turns(s); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSteeringThatComesTooLateRunsAfterwards(t *testing.T) {
	h := newHarness(t, `{}`)
	h.backend.model.answer = nil
	var once sync.Once
	started, fail := make(chan struct{}), make(chan struct{})
	h.backend.model.answer = func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		failed := false
		once.Do(func() {
			close(started)
			<-fail
			failed = true
			yield(model.Chunk{}, &model.Error{Code: "X", Message: "broken"})
		})
		if !failed {
			says("fine", yield)
		}
	}
	s := h.open()
	first := h.request("session/prompt", promptOf(s, "one"))
	<-started
	second := h.request("session/prompt", steering(s, "two"))
	h.until(s, func(l *liveSession) bool { return len(l.steering) == 1 })
	close(fail)
	if f := h.reply(first); !strings.Contains(string(f["error"]), "broken") {
		t.Errorf("%s", f["result"])
	}
	if f := h.reply(second); string(f["result"]) != `{"stopReason":"end_turn"}` {
		t.Errorf("%s %s", f["result"], f["error"])
	}
	want := []string{"turn/start", "user/message one", "turn/end error", "turn/start", "user/message two", "turn/end completed"}
	if got := h.turns(s); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCancelEndsSteeringToo(t *testing.T) {
	h := newHarness(t, `{}`)
	asked, _ := h.gate()
	s := h.open()
	ids := []string{h.request("session/prompt", promptOf(s, "one"))}
	<-asked
	ids = append(ids, h.request("session/prompt", steering(s, "two")), h.request("session/prompt", promptOf(s, "three")))
	h.notify("session/cancel", `{"sessionId":"`+s+`"}`)
	for _, id := range ids {
		if f := h.reply(id); string(f["result"]) != `{"stopReason":"cancelled"}` {
			t.Errorf("%s: %s %s", id, f["result"], f["error"])
		}
	}
	if got, want := h.turns(s), []string{"turn/start", "user/message one", "turn/end aborted"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Whatever is sent in whatever order, each prompt is answered once, none is lost,
// and turns do not overlap.
func TestPromptsAreNeitherLostNorAnsweredTwice(t *testing.T) {
	h := newHarness(t, `{}`)
	h.backend.model.answer = func(ctx context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		select {
		case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
			says("ok", yield)
		case <-ctx.Done():
			yield(model.Chunk{}, ctx.Err())
		}
	}
	for range 20 {
		s := h.open()
		sent := map[string]string{} // request to text
		for i := range 25 {
			text := fmt.Sprintf("p%d", i)
			switch rand.IntN(6) {
			case 0, 1:
				sent[h.request("session/prompt", promptOf(s, text))] = text
			case 2, 3, 4:
				sent[h.request("session/prompt", steering(s, text))] = text
			case 5:
				if rand.IntN(3) == 0 {
					h.notify("session/cancel", `{"sessionId":"`+s+`"}`)
				}
			}
			if rand.IntN(3) == 0 {
				time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
			}
		}
		results := map[string]string{}
		for id := range sent {
			results[id] = string(h.reply(id)["result"])
		}
		h.mu.Lock()
		for _, f := range h.frames {
			if f["method"] == nil && sent[string(f["id"])] != "" && results[string(f["id"])] != string(f["result"]) {
				t.Errorf("%s was answered twice", f["id"])
			}
		}
		answers := 0
		for _, f := range h.frames {
			if f["method"] == nil && sent[string(f["id"])] != "" {
				answers++
			}
		}
		h.mu.Unlock()
		if answers != len(sent) {
			t.Errorf("%d answers to %d prompts", answers, len(sent))
		}
		open, said := false, map[string]int{}
		for _, e := range h.turns(s) {
			kind, text, _ := strings.Cut(e, " ")
			switch kind {
			case "turn/start":
				if open {
					t.Fatal("two turns at once")
				}
				open = true
			case "turn/end":
				open = false
			default:
				if !open {
					t.Errorf("%q outside of a turn", e)
				}
				said[text]++
			}
		}
		for id, text := range sent {
			switch {
			case results[id] == `{"stopReason":"end_turn"}` && said[text] != 1, said[text] > 1:
				t.Errorf("%s was answered %s and said %d times", text, results[id], said[text])
			case results[id] != `{"stopReason":"end_turn"}` && results[id] != `{"stopReason":"cancelled"}`:
				t.Errorf("%s was answered %q", text, results[id])
			}
		}
		h.call("session/close", `{"sessionId":"`+s+`"}`)
	}
}

func TestSteeringIsAdvertised(t *testing.T) {
	h := newHarness(t, `{}`)
	f := h.call("initialize", `{"protocolVersion":1}`)
	var r struct {
		AgentCapabilities struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal(f["result"], &r) != nil || string(r.AgentCapabilities.Meta["dsh/prompting"]) != `{"whileRunning":"queue","steer":"dsh/steer"}` {
		t.Errorf("%s", f["result"])
	}
}
