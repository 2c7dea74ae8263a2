package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

const testKey = "sk-secret-0123456789abcdef"

// server answers requests from a script, one handler a request, the last one
// again and again.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	script []http.HandlerFunc
	bodies []jsonvalue.Value
	gone   chan struct{} // receives when a client went away during hang
}

func serve(t *testing.T, script ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{script: script, gone: make(chan struct{}, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/models" {
			io.WriteString(w, `{"data":[{"id":"test-model"},{"id":"deepseek-chat"},{"id":"text-embedding-3"},{"id":"vendor/big","context_length":99,"architecture":{"input_modalities":["text","image"]}}]}`)
			return
		}
		data, _ := io.ReadAll(r.Body)
		body, err := jsonvalue.Parse(data)
		if err != nil {
			t.Errorf("request body: %v", err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		h := s.script[0]
		if len(s.script) > 1 {
			s.script = s.script[1:]
		}
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) body(i int) jsonvalue.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 {
		i += len(s.bodies)
	}
	return s.bodies[i]
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// events answers with a stream of these data, as they are when they hold a line
// break.
func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			if strings.Contains(d, "\n") {
				io.WriteString(w, d)
			} else {
				fmt.Fprintf(w, "data: %s\n\n", d)
			}
			w.(http.Flusher).Flush()
		}
	}
}

// status answers with a status.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// hang sends some events and then nothing until the client goes away.
func (s *server) hang(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(data...)(w, r)
		<-r.Context().Done()
		s.gone <- struct{}{}
	}
}

// breakOff sends some events and drops the connection.
func breakOff(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(data...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// delta is an event with that delta; fin one with that finish reason.
func delta(d string) string {
	return `{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

func fin(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const done = "[DONE]"

// provider is one for the server, as DeepSeek.
func (s *server) provider(change ...func(*Config)) *Provider {
	cfg := Config{
		ProviderID: "deepseek", BaseURL: s.URL, Model: "test-model", KeyHint: "set TEST_KEY",
		APIKey: func() (string, error) { return testKey, nil }, HTTPClient: s.Client(),
	}
	for _, f := range change {
		f(&cfg)
	}
	return New(cfg)
}

var testTools = []model.ToolSchema{
	{Name: "read", Parameters: jsonvalue.MustFromGo(map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}})},
	{Name: "fs.write", Parameters: jsonvalue.MustFromGo(map[string]any{"type": "object"})},
	{Name: "get_weather", Parameters: jsonvalue.MustFromGo(map[string]any{"type": "object"})},
}

func ask(messages ...model.Message) model.Request {
	if len(messages) == 0 {
		messages = []model.Message{{Role: model.RoleUser, Content: []model.Part{model.Text("hi")}}}
	}
	return model.Request{SessionID: "s1", Tools: testTools, Messages: messages}
}

// play gives what an agent would make of an answer: its parts, the finish, and
// the failure. It fails when the key shows anywhere.
func play(t *testing.T, p *Provider, req model.Request) (string, *model.Accumulator, error) {
	t.Helper()
	return playCtx(t, context.Background(), p, req)
}

func playCtx(t *testing.T, ctx context.Context, p *Provider, req model.Request) (string, *model.Accumulator, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 100*time.Second)
	defer cancel()
	var acc model.Accumulator
	var failure error
	seen := ""
	pieces := map[int]string{}
	for c, err := range p.Stream(ctx, req) {
		if failure != nil {
			t.Error("something came after the failure")
		}
		if err != nil {
			failure = err
			continue
		}
		seen += c.Value().String()
		pieces[c.Index] += c.Text + c.ArgumentsDelta
		if b := c.Block; b != nil && strings.TrimSpace(pieces[c.Index]) != strings.TrimSpace(b.Text+b.Arguments) {
			t.Errorf("the pieces of block %d are %q, and the whole is %s", c.Index, pieces[c.Index], b.Value())
		}
		if err := acc.Add(c); err != nil {
			t.Errorf("chunk %s: %v", c.Value(), err)
		}
	}
	if (failure == nil) != (acc.Finish() != nil) {
		t.Errorf("failure %v, finish %v", failure, acc.Finish())
	}
	for e := failure; e != nil; e = errors.Unwrap(e) {
		seen += fmt.Sprintf("%v %+v %#v", e, e, e)
	}
	if strings.Contains(seen, testKey) || strings.Contains(seen, testKey[:12]) {
		t.Errorf("the key shows: %s", seen)
	}
	out := model.PartsValue(acc.Content()).String()
	if f := acc.Finish(); f != nil {
		out += " " + string(f.Kind)
	}
	return out, &acc, failure
}

func code(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return ""
	}
	if e.Retryable {
		return e.Code + " retryable"
	}
	return e.Code
}
