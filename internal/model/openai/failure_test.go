package openai

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// Each refusal is called by its name, and says what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply http.HandlerFunc
		code  string
		words string
	}{
		{"wrong key", status(401, `{"error":{"message":"Authentication Fails, your api key `+testKey+` is invalid"}}`), "AUTH", "set TEST_KEY"},
		{"balance", status(402, `{"error":{"message":"Insufficient Balance"}}`), "QUOTA", "top it up"},
		{"rate", status(429, `{"error":{"message":"slow"}}`, "Retry-After", "9"), "RATE_LIMITED retryable", "asks to wait 9s"},
		{"rate, no word when", status(429, ``), "RATE_LIMITED retryable", "wait and try again"},
		{"500", status(500, `oops `+testKey), "OVERLOADED retryable", "oops [key]"},
		{"page", status(503, `<html><head><title>Down</title></head>`, "Content-Type", "text/html"), "OVERLOADED retryable", `"Down"`},
		{"context", status(400, `{"error":{"message":"too many tokens","code":"context_length_exceeded"}}`), "CONTEXT_LENGTH", "compact"},
		{"model", status(400, `{"error":{"message":"Model Not Exist"}}`), "NOT_FOUND", `did you mean "deepseek-chat"`},
	} {
		req := ask()
		req.Model = "deepseek-chta"
		s := serve(t, c.reply)
		_, _, err := play(t, s.provider(), req)
		if code(err) != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %s %v, want %s %q", c.name, code(err), err, c.code, c.words)
		}
		if s.count() != 1 {
			t.Errorf("%s: sent %d times: whether to repeat is for the caller", c.name, s.count())
		}
	}
	if _, _, err := play(t, New(Config{ProviderID: "deepseek", Model: "m", KeyHint: "set X"}), ask()); code(err) != "AUTH" || !strings.Contains(err.Error(), "none is set: set X") {
		t.Error(err)
	}
	if _, _, err := play(t, New(Config{ProviderID: "x", BaseURL: "http://127.0.0.1:1"}), ask()); code(err) != "NOT_FOUND" || !strings.Contains(err.Error(), "model.name") {
		t.Error(err)
	}
	if _, _, err := play(t, New(Config{ProviderID: "x", Model: "m"}), ask()); code(err) != "NETWORK" || !strings.Contains(err.Error(), "base_url") {
		t.Error(err)
	}
}

// A model that cannot call tools is named as what it is, once; a request without
// tools, and a complaint about one tool, are other things.
func TestAModelWithoutTools(t *testing.T) {
	for words, want := range map[string]string{
		"registry.ollama.ai/library/plain:latest does not support tools":   "NO_TOOLS",
		"No endpoints found that support tool use. To learn more":          "NO_TOOLS",
		"This model doesn't support function calling":                      "NO_TOOLS",
		"\"auto\" tool choice is not supported by this server":             "NO_TOOLS",
		"the schema of the tools is not valid: minimum does not support 3": "PROTOCOL",
	} {
		req := ask()
		req.Tools = []model.ToolSchema{{Name: "read", Description: "d", Parameters: jsonvalue.Object()}}
		s := serve(t, status(400, `{"error":{"message":`+jsonvalue.String(words).String()+`}}`))
		_, _, err := play(t, s.provider(), req)
		if code(err) != want || want == "NO_TOOLS" && (!strings.Contains(err.Error(), "choose another model") || s.count() != 1) {
			t.Errorf("%s: %s %v, sent %d times", words, code(err), err, s.count())
		}
		req.Tools = nil
		if _, _, err := play(t, s.provider(), req); code(err) == "NO_TOOLS" {
			t.Errorf("%s: without tools: %v", words, err)
		}
	}
}

// What breaks midway is told apart from what cannot heal, so that a backoff
// repeats the one and not the other, and nothing of a failed answer is a call.
func TestRepeatingABrokenAnswer(t *testing.T) {
	call := delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`)
	s := serve(t, breakOff(call), status(503, ``), events(call, fin("tool_calls"), done))
	p := s.provider()
	backoff := model.Backoff{Base: time.Millisecond, Random: func() float64 { return 0 }}
	ran := 0
	for failed := 1; ; failed++ {
		_, acc, err := play(t, p, ask())
		if err == nil {
			ran += len(acc.ToolCalls())
			break
		}
		r, err := backoff.Next(failed, err)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Sleep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ran != 1 || s.count() != 3 {
		t.Errorf("%d calls, %d requests", ran, s.count())
	}
}

func TestNewCostsNothing(t *testing.T) {
	// A machine with other things to do gets several tries.
	d := time.Hour
	for range 100 {
		start := time.Now()
		New(Config{ProviderID: "deepseek", APIKey: func() (string, error) { t.Error("asked for the key"); return "", nil }})
		d = min(d, time.Since(start))
	}
	if d > time.Millisecond {
		t.Errorf("a provider takes %s", d)
	}
}

// Several sessions share a provider.
func TestManySessions(t *testing.T) {
	// Each of them is refused once, as all were sent before anything was learned.
	together := make(chan struct{})
	var waiting atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := waiting.Add(1); {
		case n > 8:
			okStream(w, r)
			return
		case n == 8:
			close(together)
		}
		<-together
		status(400, `{"error":{"message":"Unknown parameter: 'stream_options'."}}`)(w, r)
	})
	p := s.provider(func(c *Config) { c.OnNote = func(string, prepare.Note) {} })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, _, err := play(t, p, ask()); err != nil || got != `[{"type":"text","text":"ok"}] stop` {
				t.Error(got, err)
			}
			if list, err := p.Models(t.Context()); err != nil || len(list) != 3 {
				t.Error(list, err)
			}
		})
	}
	wg.Wait()
}
