package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

const testKey = "sk-ant-secret-0123456789"

type server struct {
	*httptest.Server
	mu     sync.Mutex
	script []http.HandlerFunc
	bodies []jsonvalue.Value
	gone   chan struct{}
}

// serve answers requests from a script, the last handler again and again.
func serve(t *testing.T, script ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{script: script, gone: make(chan struct{}, 16)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != testKey || r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Authorization") != "" {
			t.Errorf("header %v", r.Header)
		}
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, `{"data":[{"type":"model","id":"claude-sonnet-4-5","display_name":"Claude Sonnet 4.5"},{"id":"claude-opus-4-1"}]}`)
			return
		case "/v1/messages":
		default:
			t.Errorf("path %s", r.URL.Path)
		}
		data, _ := io.ReadAll(r.Body)
		body, err := jsonvalue.Parse(data)
		if err != nil {
			t.Errorf("body: %v", err)
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
	return s.bodies[i]
}

func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, d := range data {
			v, _ := jsonvalue.ParseString(d)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", v.GetString("type"), d)
			w.(http.Flusher).Flush()
		}
	}
}

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func (s *server) hang(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		events(data...)(w, r)
		<-r.Context().Done()
		s.gone <- struct{}{}
	}
}

func (s *server) provider(change ...func(*Config)) *Provider {
	cfg := Config{
		BaseURL: s.URL + "/v1/", Model: "claude-sonnet-4-5", KeyHint: "set TEST_KEY",
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
}

func ask(messages ...model.Message) model.Request {
	if len(messages) == 0 {
		messages = []model.Message{{Role: model.RoleUser, Content: []model.Part{model.Text("hi")}}}
	}
	return model.Request{SessionID: "s1", Tools: testTools, Messages: messages}
}

func play(t *testing.T, ctx context.Context, p *Provider, req model.Request) (string, *model.Accumulator, error) {
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
	if strings.Contains(seen, testKey) || strings.Contains(seen, testKey[:14]) {
		t.Errorf("the key shows: %s", seen)
	}
	out := model.PartsValue(acc.Content()).String()
	if f := acc.Finish(); f != nil {
		out += " " + string(f.Kind)
	}
	return out, &acc, failure
}

func codeOf(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return ""
	}
	if e.Retryable {
		return e.Code + " retryable"
	}
	return e.Code
}

const (
	begin = `{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":1}}}`
	end   = `{"type":"message_stop"}`
	ping  = `{"type":"ping"}`
)

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":20}}`
}

func start(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}

func close(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func said(i int, s string) []string {
	return []string{start(i, `{"type":"text","text":""}`), delta(i, `{"type":"text_delta","text":"`+s+`"}`), close(i)}
}

var okStream = events(slices.Concat([]string{begin}, said(0, "ok"), []string{stop("end_turn"), end})...)

func TestAnswers(t *testing.T) {
	wire := prepare.WireName("fs.write")
	for _, c := range []struct {
		name   string
		stream []string
		want   string
	}{
		{"text", slices.Concat([]string{begin, ping}, said(0, "Hello"), []string{stop("end_turn"), end}), `[{"type":"text","text":"Hello"}] stop`},
		{"no message_stop", slices.Concat([]string{begin}, said(0, "Hello"), []string{stop("end_turn")}), `[{"type":"text","text":"Hello"}] stop`},
		{"thinking, text, calls", []string{
			begin, start(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"h"}`), delta(0, `{"type":"thinking_delta","thinking":"m"}`),
			delta(0, `{"type":"signature_delta","signature":"s+/1"}`), delta(0, `{"type":"signature_delta","signature":"=="}`), close(0),
			start(1, `{"type":"redacted_thinking","data":"zz"}`), close(1), start(2, `{"type":"text","text":""}`), delta(2, `{"type":"text_delta","text":"I look."}`), close(2),
			start(3, `{"type":"tool_use","id":"t1","name":"`+wire+`","input":{}}`), delta(3, `{"type":"input_json_delta","partial_json":""}`), delta(3, `{"type":"input_json_delta","partial_json":"{\"a\""}`), delta(3, `{"type":"input_json_delta","partial_json":":1}"}`), close(3),
			start(4, `{"type":"tool_use","id":"t2","name":"read","input":{}}`), close(4), start(5, `{"type":"tool_use","id":"t3","name":"read","input":{"path":"x"}}`), close(5), stop("tool_use"), end,
		}, `[{"type":"reasoning","text":"hm","signature":"s+/1=="},{"type":"reasoning","text":"","redacted":"zz"},{"type":"text","text":"I look."},{"type":"tool-call","id":"t1","name":"fs.write","arguments":"{\"a\":1}"},{"type":"tool-call","id":"t2","name":"read","arguments":""},{"type":"tool-call","id":"t3","name":"read","arguments":"{\"path\":\"x\"}"}] tool-calls`},
		{"two thoughts", []string{
			begin, start(0, `{"type":"thinking","thinking":"a","signature":"1"}`), close(0), start(1, `{"type":"thinking","thinking":"b"}`), delta(1, `{"type":"signature_delta","signature":"2"}`), close(1), stop("end_turn"), end,
		}, `[{"type":"reasoning","text":"a","signature":"1"},{"type":"reasoning","text":"b","signature":"2"}] stop`},
		{"token limit in a call", []string{begin, start(0, `{"type":"tool_use","id":"t","name":"read","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"pa"}`), close(0), stop("max_tokens"), end}, `[{"type":"tool-call","id":"t","name":"read","arguments":"{\"pa"}] max-tokens`},
		{"context full", slices.Concat([]string{begin}, said(0, "a"), []string{stop("model_context_window_exceeded"), end}), `[{"type":"text","text":"a"}] max-tokens`},
		{"refusal", []string{begin, stop("refusal"), end}, `[] content-filter`},
		{"pause", slices.Concat([]string{begin}, said(0, "a"), []string{stop("pause_turn"), end}), `[{"type":"text","text":"a"}] stop`},
		{"unknown blocks and events", slices.Concat([]string{begin, `{"type":"novel"}`, start(0, `{"type":"server_tool_use","id":"x"}`), delta(0, `{"type":"input_json_delta","partial_json":"{}"}`), close(0)}, said(1, "a"), []string{stop("end_turn"), end}), `[{"type":"text","text":"a"}] stop`},
		{"calls whose end is left out", []string{
			begin, start(0, `{"type":"tool_use","id":"t1","name":"read","input":{"path":"x"}}`), start(1, `{"type":"tool_use","id":"t2","name":"read","input":{}}`), delta(1, `{"type":"input_json_delta","partial_json":"{\"path\":1}"}`), stop("tool_use"), end,
		}, `[{"type":"tool-call","id":"t1","name":"read","arguments":"{\"path\":\"x\"}"},{"type":"tool-call","id":"t2","name":"read","arguments":"{\"path\":1}"}] tool-calls`},
		{"calls with one index", []string{
			begin, start(0, `{"type":"tool_use","id":"t1","name":"read","input":{"path":"x"}}`), start(0, `{"type":"tool_use","id":"t2","name":"read","input":{"path":"y"}}`), close(0), stop("tool_use"), end,
		}, `[{"type":"tool-call","id":"t1","name":"read","arguments":"{\"path\":\"x\"}"},{"type":"tool-call","id":"t2","name":"read","arguments":"{\"path\":\"y\"}"}] tool-calls`},
		{"not streamed", []string{
			`{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"read","input":{"path":"x"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":7,"output_tokens":20}}`,
		}, `[{"type":"reasoning","text":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool-call","id":"t","name":"read","arguments":"{\"path\":\"x\"}"}] tool-calls`},
		{"duplicate keys", slices.Concat([]string{begin}, []string{`{"type":"content_block_delta","x":1,"x":2,"index":0,"delta":{"type":"text_delta","text":"a"}}`}, []string{stop("end_turn"), end}), `[{"type":"text","text":"a"}] stop`},
		{"leaked markup", slices.Concat([]string{begin}, said(0, `<｜DSML｜invoke name=\"read\"></｜DSML｜invoke>`), []string{stop("end_turn"), end}), `[{"type":"tool-call","id":"call_0","name":"read","arguments":"{}"}] tool-calls`},
	} {
		got, acc, err := play(t, t.Context(), serve(t, events(c.stream...)).provider(), ask())
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", c.name, got, err, c.want)
			continue
		}
		if u := acc.Usage().Value().String(); u != `{"inputTokens":15,"outputTokens":20,"cacheReadTokens":7}` {
			t.Errorf("%s: usage %s", c.name, u)
		}
	}
}

func TestFailures(t *testing.T) {
	s := serve(t, nil)
	some := slices.Concat([]string{begin}, said(0, "a"))
	for _, c := range []struct {
		name, code, words string
		handler           http.HandlerFunc
	}{
		{"ends without a stop reason", "PROTOCOL retryable", "complete", events(some...)},
		{"message_stop alone", "PROTOCOL retryable", "complete", events(append(slices.Clone(some), end)...)},
		{"breaks", "NETWORK retryable", "broke off", func(w http.ResponseWriter, r *http.Request) { events(some...)(w, r); panic(http.ErrAbortHandler) }},
		{"stalls", "TIMEOUT retryable", "stopped in the middle", s.hang(some...)},
		{"pings only", "TIMEOUT retryable", "no part of an answer", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				events(ping)(w, r)
				time.Sleep(5 * time.Millisecond)
			}
		}},
		{"overloaded midway", "OVERLOADED retryable", "Overloaded", events(append(slices.Clone(some), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...)},
		{"nothing", "PROTOCOL retryable", "without an answer", events()},
		{"garbage", "PROTOCOL retryable", "no part of an answer", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "data: {oops\n\n") }},
		{"web page", "PROTOCOL", "Hello", status(200, "<html><title>Hello</title>", "Content-Type", "text/html")},
		{"401", "AUTH", "set TEST_KEY", status(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key `+testKey+`"}}`)},
		{"balance", "QUOTA", "top it up", status(400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`)},
		{"429", "RATE_LIMITED retryable", "asks to wait 7s", status(429, `{"error":{"type":"rate_limit_error","message":"slow down"}}`, "Retry-After", "7")},
		{"529", "OVERLOADED retryable", "overloaded", status(529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`)},
		{"too long", "CONTEXT_LENGTH", "does not fit", status(400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)},
		{"wrong model", "NOT_FOUND", `did you mean "claude-sonnet-4-5"`, status(404, `{"error":{"type":"not_found_error","message":"model: claude-sonet-4-5 not found"}}`)},
	} {
		code, words := c.code, c.words
		p := serve(t, c.handler).provider(func(c *Config) {
			switch { // whoever waits for one of them does so for a short time, and nobody else
			case !strings.HasPrefix(code, "TIMEOUT"):
			case words == "stopped in the middle":
				c.IdleTimeout = 150 * time.Millisecond
			default:
				c.ProgressTimeout = 250 * time.Millisecond
			}
		})
		req := ask()
		if c.code == "NOT_FOUND" {
			req.Model = "claude-sonet-4-5"
		}
		_, _, err := play(t, t.Context(), p, req)
		if got := codeOf(err); got != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %s %v, want %s %q", c.name, got, err, c.code, c.words)
		}
	}
	if _, _, err := play(t, t.Context(), New(Config{Model: "m", KeyHint: "set X"}), ask()); codeOf(err) != "AUTH" || !strings.Contains(err.Error(), "none is set: set X") {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	hang := s.hang(begin)
	asked := func(w http.ResponseWriter, r *http.Request) { cancel(); hang(w, r) }
	if _, _, err := play(t, ctx, serve(t, asked).provider(), ask()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-s.gone:
	case <-time.After(60 * time.Second):
		t.Error("the server still waits")
	}
}

func parts(t *testing.T, v string) jsonvalue.Value {
	t.Helper()
	x, err := jsonvalue.ParseString(v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRequest(t *testing.T) {
	image := model.Part{Type: model.PartImage, Extra: parts(t, `{"mimeType":"image/png","data":"aGk="}`)}
	s := serve(t, okStream)
	var notes []string
	p := s.provider(func(c *Config) { c.OnNote = func(_ string, n prepare.Note) { notes = append(notes, n.Code) } })
	req := ask(
		model.Message{Role: model.RoleUser, Content: []model.Part{model.Text("go"), image}},
		model.Message{Role: model.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-5", Content: []model.Part{
			{Type: model.PartReasoning, Text: "hm \"<&\u2028", Extra: parts(t, `{"signature":"s+/1=="}`)},
			{Type: model.PartReasoning, Extra: parts(t, `{"redacted":"zz"}`)},
			{Type: model.PartReasoning, Text: "without proof"},
			model.Text("  "),
			{Type: model.PartToolCall, ID: "t1", Name: "fs.write", Arguments: `{"a": 1.0}`},
			{Type: model.PartToolCall, ID: "bad id!", Name: "read", Arguments: `{"cut`},
		}},
		model.Message{Role: model.RoleTool, ToolCallID: "bad id!", IsError: true, Content: []model.Part{model.Text("Error"), image}},
		model.Message{Role: model.RoleUser, Content: []model.Part{model.Text("and")}},
		model.Message{Role: model.RoleAssistant, Provider: "deepseek", Model: "x", Content: []model.Part{{Type: model.PartReasoning, Text: "foreign", Extra: parts(t, `{"signature":"f"}`)}, model.Text("said")}},
	)
	req.System = "sys"
	if _, _, err := play(t, t.Context(), p, req); err != nil {
		t.Fatal(err)
	}
	body := s.body(0)
	img := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`
	id := body.Get("messages").At(1).Get("content").At(3).GetString("id")
	if !plainID.MatchString(id) {
		t.Errorf("id %q", id)
	}
	want := `[{"role":"user","content":[{"type":"text","text":"go"},` + img + `]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm \"<&\u2028","signature":"s+/1=="},{"type":"redacted_thinking","data":"zz"},` +
		`{"type":"tool_use","id":"t1","name":"` + prepare.WireName("fs.write") + `","input":{"a":1.0}},{"type":"tool_use","id":"` + id + `","name":"read","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":` + jsonvalue.String(prepare.Lost).String() + `}],"is_error":true},` +
		`{"type":"tool_result","tool_use_id":"` + id + `","content":[{"type":"text","text":"Error"},` + img + `],"is_error":true},{"type":"text","text":"and"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"said"}]},{"role":"user","content":[{"type":"text","text":"[Go on.]","cache_control":{"type":"ephemeral"}}]}]`
	if got := body.Get("messages").String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := body.Get("system").String(); got != `[{"type":"text","text":"sys","cache_control":{"type":"ephemeral"}}]` {
		t.Error(got)
	}
	if n, _ := body.Get("max_tokens").Int64(); n != 64_000 || body.Get("tools").Len() != 2 || strings.Join(notes, " ") != "ORPHAN_CALL" {
		t.Errorf("%d, %s, %v", n, body.Get("tools"), notes)
	}
}

func TestThinking(t *testing.T) {
	inLoop := []model.Message{
		{Role: model.RoleUser, Content: []model.Part{model.Text("go")}},
		{Role: model.RoleAssistant, Provider: "deepseek", Content: []model.Part{{Type: model.PartToolCall, ID: "a", Name: "read", Arguments: "{}"}}},
		{Role: model.RoleTool, ToolCallID: "a", Content: []model.Part{model.Text("r")}},
	}
	for _, c := range []struct {
		name, model, effort string
		limit               int64
		messages            []model.Message
		want                string
	}{
		{"none", "claude-sonnet-4-5", "", 0, nil, `{}`},
		{"off", "claude-sonnet-4-5", "off", 0, nil, `{}`},
		{"budget", "claude-sonnet-4-5", "high", 0, nil, `{"thinking":{"type":"enabled","budget_tokens":24000}}`},
		{"small limit", "claude-sonnet-4-5", "high", 4000, nil, `{"thinking":{"type":"enabled","budget_tokens":3000}}`},
		{"tiny limit", "claude-sonnet-4-5", "high", 1000, nil, `{}`},
		{"no thinker", "claude-3-5-haiku", "high", 0, nil, `{}`},
		{"decides itself", "claude-opus-4-6", "high", 0, nil, `{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}`},
		{"dated", "claude-opus-4-20250514", "low", 0, nil, `{"thinking":{"type":"enabled","budget_tokens":4096}}`},
		{"in a loop begun without", "claude-sonnet-4-5", "high", 0, inLoop, `{}`},
	} {
		s := serve(t, okStream)
		req := ask(c.messages...)
		req.Model, req.ReasoningEffort, req.MaxTokens = c.model, c.effort, c.limit
		play(t, t.Context(), s.provider(), req)
		got := s.body(0)
		for _, k := range []string{"model", "max_tokens", "tools", "messages", "stream", "system"} {
			got = got.Without(k)
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// One that turns out not to decide itself gets a budget.
	s := serve(t, status(400, `{"error":{"message":"thinking.type: adaptive is not supported"}}`), okStream)
	req := ask()
	req.Model, req.ReasoningEffort = "claude-opus-4-6", "low"
	if _, _, err := play(t, t.Context(), s.provider(), req); err != nil || s.body(1).Get("thinking").GetString("type") != "enabled" {
		t.Error(err)
	}
	// An answer that could become too long for what is left is bounded.
	tooLong := func(used int) http.HandlerFunc {
		return status(400, fmt.Sprintf(`{"error":{"message":"input length and max_tokens exceed context limit: %d + 64000 > 200000"}}`, used))
	}
	s = serve(t, tooLong(190_000), okStream)
	if _, _, err := play(t, t.Context(), s.provider(), ask()); err != nil || s.body(1).Get("max_tokens").String() != "10000" {
		t.Error(err)
	}
	if _, _, err := play(t, t.Context(), serve(t, tooLong(199_900)).provider(), ask()); codeOf(err) != "CONTEXT_LENGTH" {
		t.Error(err)
	}
	// A refused tool is left out.
	s = serve(t, status(400, `{"error":{"message":"tools.0.custom.input_schema: JSON schema is invalid"}}`), okStream)
	p := s.provider()
	if _, _, err := play(t, t.Context(), p, ask()); err != nil || s.body(1).Get("tools").Len() != 1 || len(p.Quarantined(testTools)) != 1 {
		t.Error(err)
	}
}

// A thought goes back to the byte, whatever is in it.
func TestThoughtsGoBackAsTheyCame(t *testing.T) {
	const thinking, proof = `a \"b\" \\ <｜x｜> é \ud83d\ude00 \u2028 \u0000 \/`, `EqQBCgIYAhIM+/=`
	s := serve(t, events(begin, start(0, `{"type":"thinking","thinking":""}`), delta(0, `{"type":"thinking_delta","thinking":"`+thinking+`"}`),
		delta(0, `{"type":"signature_delta","signature":"`+proof+`"}`), close(0), start(1, `{"type":"tool_use","id":"t","name":"read","input":{}}`), close(1), stop("tool_use"), end), okStream)
	p := s.provider()
	_, acc, err := play(t, t.Context(), p, ask())
	if err != nil {
		t.Fatal(err)
	}
	req := ask()
	req.Messages = append(req.Messages, acc.Message("anthropic", "claude-sonnet-4-5"))
	play(t, t.Context(), p, req)
	want := parts(t, `{"type":"thinking","thinking":"`+thinking+`","signature":"`+proof+`"}`)
	if got := s.body(1).Get("messages").At(1).Get("content").At(0); !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestModels(t *testing.T) {
	s := serve(t, okStream)
	list, err := s.provider().Models(t.Context())
	if err != nil || len(list) != 2 || list[0].Title() != "Claude Sonnet 4.5" || list[0].ContextWindow != 200_000 || list[1].ID != "claude-opus-4-1" {
		t.Errorf("%+v %v", list, err)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{})
	}
}
