package openai

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

func parseJSON(t testing.TB, s string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.ParseString(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var okStream = events(delta(`{"content":"ok"}`), fin("stop"), done)

// sent gives the request that a provider makes.
func sent(t *testing.T, req model.Request, change ...func(*Config)) (jsonvalue.Value, []string) {
	t.Helper()
	s := serve(t, okStream)
	var notes []string
	p := s.provider(append(change, func(c *Config) {
		c.OnNote = func(_ string, n prepare.Note) { notes = append(notes, n.Code) }
	})...)
	for range 2 { // notes come once
		if _, _, err := play(t, p, req); err != nil {
			t.Fatal(err)
		}
	}
	if !s.body(0).Equal(s.body(1)) {
		t.Error("the same request was sent differently")
	}
	return s.body(0), notes
}

func conversation(t *testing.T) []model.Message {
	return []model.Message{
		{Role: model.RoleUser, Content: []model.Part{model.Text("go")}},
		{Role: model.RoleAssistant, Provider: "deepseek", Model: "test-model", Content: []model.Part{
			{Type: model.PartReasoning, Text: "think"},
			model.Text("I look."),
			{Type: model.PartToolCall, ID: "a", Name: "fs.write", Arguments: `{"x": 1}`},
			{Type: model.PartToolCall, ID: "b", Name: "read", Arguments: `{"cut`},
			{Type: model.PartToolCall, ID: "c", Name: "read", Arguments: `[1]`},
			{Type: model.PartToolCall, ID: "d", Name: "read", Arguments: ``},
		}},
		{Role: model.RoleTool, ToolCallID: "a", ToolName: "fs.write", Content: []model.Part{model.Text("done"), model.Text("twice")}},
		{Role: model.RoleTool, ToolCallID: "b", IsError: true, Content: []model.Part{model.Text("Error: x")}},
		{Role: model.RoleTool, ToolCallID: "d", Content: []model.Part{{Type: model.PartImage, Extra: parseJSON(t, `{"mimeType":"image/png","data":"aGk="}`)}}},
		{Role: model.RoleUser, Content: []model.Part{model.Text("and")}},
		{Role: model.RoleUser, Origin: model.OriginContext, Content: []model.Part{model.Text("context"), model.Text("lone \xED\xA0\xBD")}},
		{Role: model.RoleAssistant, Provider: "other", Model: "m", Content: []model.Part{{Type: model.PartReasoning, Text: "foreign"}, {Type: model.PartToolCall, ID: "e", Name: "read", Arguments: `{}`}}},
		{Role: model.RoleTool, ToolCallID: "e", Content: []model.Part{model.Text("r")}},
		{Role: model.RoleAssistant, Provider: "deepseek", Content: []model.Part{{Type: model.PartReasoning, Text: "why"}, model.Text("answer")}},
	}
}

func TestMessages(t *testing.T) {
	req := ask(conversation(t)...)
	req.System = "sys"
	body, notes := sent(t, req)
	calls := func(list ...string) string { return `"tool_calls":[` + strings.Join(list, ",") + `]` }
	call := func(id, name, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + jsonvalue.String(args).String() + `}}`
	}
	want := `[{"role":"system","content":"sys"},{"role":"user","content":"go"},` +
		`{"role":"assistant","content":"I look.","reasoning_content":"think",` + calls(call("a", prepare.WireName("fs.write"), `{"x":1}`), call("b", "read", `{}`), call("c", "read", `{}`), call("d", "read", `{}`)) + `},` +
		`{"role":"tool","tool_call_id":"a","content":"done\ntwice"},{"role":"tool","tool_call_id":"b","content":"Error: x"},` +
		`{"role":"tool","tool_call_id":"c","content":` + jsonvalue.String(prepare.Lost).String() + `},` +
		`{"role":"tool","tool_call_id":"d","content":"[An image was here; this model accepts only text.]"},` +
		`{"role":"user","content":"and\n\ncontext\n\nlone �"},` +
		`{"role":"assistant","content":"","reasoning_content":"",` + calls(call("e", "read", `{}`)) + `},{"role":"tool","tool_call_id":"e","content":"r"},` +
		`{"role":"assistant","content":"answer"}]`
	if got := body.Get("messages").String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(notes, " "); got != "IMAGE_DROPPED ORPHAN_CALL" {
		t.Errorf("notes %q", got)
	}
	// The generic dialect sends no reasoning back, unless told to.
	body, _ = sent(t, req, func(c *Config) { c.Dialect = Generic })
	if strings.Contains(body.String(), "reasoning_content") {
		t.Error("reasoning went back to a server that need not know the field")
	}
	body, _ = sent(t, req, func(c *Config) { c.Dialect = Generic; c.ResendReasoning = new(true) })
	if !strings.Contains(body.String(), `"reasoning_content":"think"`) {
		t.Error("the option has no effect")
	}
}

// What was sent stays as it is while the conversation grows, so that servers can
// reuse what they computed.
func TestStablePrefix(t *testing.T) {
	whole := conversation(t)
	var before string
	for _, n := range []int{1, 5, 7, 9, 10} { // where a request can be made
		req := ask(whole[:n]...)
		req.System = "sys"
		body, _ := sent(t, req)
		now := strings.TrimSuffix(body.Get("messages").String(), "]")
		if !strings.HasPrefix(now, before) {
			t.Errorf("with %d messages:\n%s\ndoes not begin with\n%s", n, now, before)
		}
		before = now
	}
}

func TestImages(t *testing.T) {
	req := ask(conversation(t)...)
	req.Messages[0].Content = append(req.Messages[0].Content, req.Messages[4].Content[0])
	req.Model = "vision"
	body, notes := sent(t, req, func(c *Config) { c.Models = []model.Info{{ID: "vision", Images: true}} })
	img := `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}`
	for _, want := range []string{
		`{"role":"user","content":[{"type":"text","text":"go"},` + img + `]}`,
		`{"role":"tool","tool_call_id":"d","content":"[The image follows.]"},{"role":"user","content":[{"type":"text","text":"[Images from the tool results above:]"},` + img + `]}`,
	} {
		if !strings.Contains(body.String(), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if slices.Contains(notes, "IMAGE_DROPPED") {
		t.Error(notes)
	}
}

func TestToolsOnTheWire(t *testing.T) {
	req := ask()
	req.Tools = append(slices.Clone(testTools), model.ToolSchema{Name: "bad", Parameters: parseJSON(t, `{"type":"object","properties":{"a":{"$ref":"#/no"}}}`)})
	body, notes := sent(t, req)
	if got := body.Get("tools").String(); !strings.Contains(got, `"name":"`+prepare.WireName("fs.write")+`"`) || strings.Contains(got, "bad") || body.Get("tools").Len() != 3 {
		t.Error(got)
	}
	if strings.Join(notes, " ") != "TOOL_QUARANTINED" {
		t.Error(notes)
	}
	if q := New(Config{ProviderID: "deepseek"}).Quarantined(req.Tools); len(q) != 1 || q[0].Name != "bad" || !strings.Contains(q[0].Reason, "nowhere") {
		t.Error(q)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name   string
		req    func(*model.Request)
		change func(*Config)
		want   string // members beyond model, messages, tools and stream
	}{
		{"plain", func(*model.Request) {}, func(*Config) {}, `{"stream_options":{"include_usage":true}}`},
		{"deepseek thinks", func(r *model.Request) { r.ReasoningEffort = "high" }, func(*Config) {}, `{"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},"reasoning_effort":"high"}`},
		{"deepseek does not", func(r *model.Request) { r.ReasoningEffort = "off" }, func(*Config) {}, `{"stream_options":{"include_usage":true},"thinking":{"type":"disabled"}}`},
		{"openai", func(r *model.Request) { r.ReasoningEffort, r.Model, r.MaxTokens = "max", "gpt-5", 5 }, func(c *Config) { c.Dialect = OpenAI }, `{"stream_options":{"include_usage":true},"max_completion_tokens":5,"reasoning_effort":"xhigh","prompt_cache_key":"s1"}`},
		{"openai, no thinker", func(r *model.Request) { r.ReasoningEffort, r.Model = "high", "gpt-4o" }, func(c *Config) { c.Dialect = OpenAI }, `{"stream_options":{"include_usage":true},"prompt_cache_key":"s1"}`},
		{"openrouter", func(r *model.Request) { r.ReasoningEffort = "low" }, func(c *Config) { c.Dialect = OpenRouter }, `{"stream_options":{"include_usage":true},"reasoning":{"effort":"low"}}`},
		{"ollama", func(r *model.Request) { r.ReasoningEffort = "off" }, func(c *Config) { c.Dialect = Ollama }, `{"stream_options":{"include_usage":true},"reasoning_effort":"none"}`},
		{"generic", func(r *model.Request) { r.ReasoningEffort, r.MaxTokens = "off", 7 }, func(c *Config) { c.Dialect = Generic }, `{"stream_options":{"include_usage":true},"max_tokens":7,"chat_template_kwargs":{"enable_thinking":false}}`},
		{"extra body wins", func(*model.Request) {}, func(c *Config) { c.ExtraBody = parseJSON(t, `{"temperature":0,"stream_options":{}}`) }, `{"stream_options":{},"temperature":0}`},
	} {
		req := ask()
		c.req(&req)
		body, _ := sent(t, req, c.change)
		got := body.Without("model").Without("messages").Without("tools").Without("stream")
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestHeader(t *testing.T) {
	var got http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		okStream(w, r)
	})
	play(t, s.provider(func(c *Config) { c.Header = http.Header{"x-title": {"t"}} }), ask())
	if got.Get("Authorization") != "Bearer "+testKey || got.Get("X-Title") != "t" || got.Get("Content-Type") != "application/json" || got.Get("Accept") != "text/event-stream" {
		t.Error(got)
	}
	play(t, s.provider(func(c *Config) { c.APIKey = nil }), ask())
	if got.Get("Authorization") != "" {
		t.Error("a key out of nothing")
	}
}

// What a server refuses is left out, once and for all, and the request goes
// through.
func TestAdjust(t *testing.T) {
	image := model.Part{Type: model.PartImage, Extra: parseJSON(t, `{"mimeType":"image/png","data":"aGk="}`)}
	withCall := conversation(t)
	for _, c := range []struct {
		name, says   string
		code         int
		has, hasNot  string // in the second request
		note         string
		changeConfig func(*Config)
	}{
		{"usage", `{"error":{"message":"Unknown parameter: 'stream_options'."}}`, 400, "", "stream_options", "OPTION_DROPPED", nil},
		{"effort", `{"error":{"message":"think value reasoning_effort is not supported"}}`, 400, "", "reasoning_effort", "OPTION_DROPPED", nil},
		{"a tool by name", `{"error":{"message":"Invalid schema for function 'read': bad"}}`, 400, `"name":"get_weather"`, `"name":"read","description"`, "TOOL_QUARANTINED", nil},
		{"a tool by number", `{"error":{"message":"tools[2].function.parameters: bad"}}`, 422, `"name":"read","description"`, "get_weather", "TOOL_QUARANTINED", nil},
		{"images", `{"error":{"message":"unknown variant image_url, expected text"}}`, 400, "An image was here", "aGk=", "OPTION_DROPPED", func(c *Config) { c.Models = []model.Info{{ID: "test-model", Images: true}} }},
		{"reasoning back", `{"error":{"message":"property 'messages.1.reasoning_content' is unsupported"}}`, 400, "", "reasoning_content", "", nil},
		{"reasoning must be back", `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`, 400, `"reasoning_content":"think"`, "", "", func(c *Config) { c.ResendReasoning = new(false) }},
		{"newer limit", `{"error":{"message":"Use 'max_completion_tokens' instead."}}`, 400, "max_completion_tokens", "max_tokens\"", "", nil},
	} {
		s := serve(t, status(c.code, c.says), okStream)
		var notes []string
		p := s.provider(func(cfg *Config) {
			cfg.OnNote = func(_ string, n prepare.Note) { notes = append(notes, n.Code) }
			if c.changeConfig != nil {
				c.changeConfig(cfg)
			}
		})
		req := ask(append(slices.Clone(withCall), model.Message{Role: model.RoleUser, Content: []model.Part{image}})...)
		req.MaxTokens, req.ReasoningEffort = 10, "high"
		if got, _, err := play(t, p, req); err != nil || got != `[{"type":"text","text":"ok"}] stop` {
			t.Errorf("%s: %s %v", c.name, got, err)
			continue
		}
		second := s.body(1).String()
		if c.has != "" && !strings.Contains(second, c.has) || c.hasNot != "" && strings.Contains(second, c.hasNot) {
			t.Errorf("%s: %s", c.name, second)
		}
		if c.note != "" && !slices.Contains(notes, c.note) {
			t.Errorf("%s: notes %v", c.name, notes)
		}
		// It is not forgotten.
		play(t, p, req)
		if s.count() != 3 || s.body(2).String() != second {
			t.Errorf("%s: forgotten", c.name)
		}
	}
	// A server that refuses everything is asked a bounded number of times.
	s := serve(t, status(400, `{"error":{"message":"stream_options reasoning_effort thinking function 'read' function 'get_weather' tools[0] tools[1]"}}`))
	req := ask()
	req.ReasoningEffort = "high"
	if _, _, err := play(t, s.provider(), req); code(err) != "PROTOCOL" || s.count() > maxAdjust+1 {
		t.Errorf("%v after %d requests", err, s.count())
	}
}

func TestModels(t *testing.T) {
	s := serve(t, okStream)
	p := s.provider(func(c *Config) { c.Models = []model.Info{{ID: "mine", ContextWindow: 7}} })
	list, err := p.Models(t.Context())
	var got []string
	for _, i := range list {
		got = append(got, i.ID)
	}
	if err != nil || strings.Join(got, " ") != "test-model mine deepseek-chat vendor/big" {
		t.Error(got, err)
	}
	if list[2].ContextWindow != 128_000 || list[3].ContextWindow != 99 || !list[3].Images {
		t.Errorf("%+v", list)
	}
	// Thought levels are offered where the server has them.
	for id, want := range map[string]string{"deepseek-v4-flash": "off high max", "deepseek-reasoner": "", "deepseek-chat": ""} {
		p := s.provider(func(c *Config) { c.Model = id })
		if list, err := p.Models(t.Context()); err != nil || strings.Join(list[0].Efforts, " ") != want {
			t.Errorf("%s: %v %v", id, list, err)
		}
	}
	// A server that is not there: what is configured is enough.
	s.Close()
	if list, err := s.provider().Models(t.Context()); err != nil || len(list) != 1 || list[0].ID != "test-model" {
		t.Error(list, err)
	}
	if _, err := s.provider(func(c *Config) { c.Model = "" }).Models(t.Context()); code(err) != "NETWORK retryable" {
		t.Error(err)
	}
}

// OpenRouter's structured reasoning goes back as it came.
func TestReasoningDetails(t *testing.T) {
	s := serve(t, events(
		delta(`{"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"f"}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.text","text":"b","signature":"sig","index":0}]}`),
		delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"zz","index":1}]}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`), fin("tool_calls"), done), okStream)
	p := s.provider(func(c *Config) { c.Dialect = OpenRouter })
	_, acc, err := play(t, p, ask())
	if err != nil {
		t.Fatal(err)
	}
	req := ask()
	req.Messages = append(req.Messages, acc.Message("deepseek", "test-model"))
	play(t, p, req)
	want := `[{"type":"reasoning.text","text":"ab","index":0,"format":"f","signature":"sig"},{"type":"reasoning.encrypted","data":"zz","index":1}]`
	if got := s.body(1).Get("messages").At(1).Get("reasoning_details").String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestGuess(t *testing.T) {
	for in, want := range map[string]Dialect{
		"https://api.deepseek.com": DeepSeek, "https://api.openai.com/v1": OpenAI, "https://openrouter.ai/api/v1": OpenRouter,
		"http://localhost:11434/v1": Ollama, "http://localhost:8080/v1": Generic, "": Generic, "https://deepseek.com.evil.example": Generic,
	} {
		if got := guess("openai", in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	p := New(Config{ProviderID: "deepseek"})
	if p.cfg.BaseURL != DeepSeekURL || p.cfg.Dialect != DeepSeek || p.ProviderID() != "deepseek" {
		t.Errorf("%+v", p.cfg)
	}
	if got := New(Config{ProviderID: "x", BaseURL: "http://h/v1/chat/completions/"}).cfg.BaseURL; got != "http://h/v1" {
		t.Error(got)
	}
}
