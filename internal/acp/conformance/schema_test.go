package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema/foreign"
)

// samples are valid messages of an agent, by the definition that they follow.
var samples = []struct{ def, text string }{
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"edit","status":"pending","content":[{"type":"diff","path":"/a","oldText":null,"newText":"x"},{"type":"content","content":{"type":"text","text":"x"}},{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/a","line":1}],"rawInput":{"x":1},"_meta":{"x":1}}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":null}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"file:///a","text":"x"}},"messageId":"m"}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1.5,"currency":"EUR"}}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"A","type":"select","currentValue":"x","options":[{"value":"x","name":"X"}]},{"id":"b","name":"B","type":"boolean","currentValue":true}]}}`},
	{"SessionNotification", `{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","description":"b","input":{"hint":"h"}}]}}`},
	{"RequestPermissionRequest", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}`},
	{"InitializeResponse", `{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"},"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{},"close":null}},"authMethods":[{"id":"k","name":"K"},{"type":"terminal","id":"t","name":"T","args":["x"],"env":{"A":"b"}}]}`},
	{"NewSessionResponse", `{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"}]}}`},
	{"ListSessionsResponse", `{"sessions":[{"sessionId":"s","cwd":"/","title":"t","updatedAt":"2026-01-01T00:00:00Z"}],"nextCursor":"x"}`},
	{"PromptResponse", `{"stopReason":"end_turn"}`},
	{"ReadTextFileRequest", `{"sessionId":"s","path":"/a","line":1,"limit":2}`},
	{"CreateTerminalRequest", `{"sessionId":"s","command":"c","args":["a"],"env":[{"name":"A","value":"b"}],"cwd":"/","outputByteLimit":10}`},
	{"CreateElicitationRequest", `{"sessionId":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"A"}},"required":["a"]}}`},
}

// oracle compiles a definition with the library that the program uses for
// foreign schemas.
func oracle(t *testing.T, name string) *foreign.Schema {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(schemaText, &doc); err != nil {
		t.Fatal(err)
	}
	root, err := json.Marshal(map[string]any{"$defs": doc["$defs"], "$ref": "#/$defs/" + name})
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonvalue.Parse(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := foreign.Compile(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The small validator says what a complete one says, about valid messages and
// about messages with something wrong in them.
func TestTheValidatorAgainstACompleteOne(t *testing.T) {
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	oracles := map[string]*foreign.Schema{} // which take long to make
	for _, sample := range samples {
		if oracles[sample.def] == nil {
			oracles[sample.def] = oracle(t, sample.def)
		}
		complete := oracles[sample.def]
		agree := func(fatalf func(string, ...any), text string) bool {
			v, err := jsonvalue.Parse([]byte(text))
			if err != nil {
				fatalf("%v", err)
			}
			want := complete.Validate(v)
			got, _ := s.validate(s.defs[sample.def], json.RawMessage(text))
			if (len(want) == 0) != (len(got) == 0) {
				fatalf("%s\n%s\nhere: %v\nthere: %v", sample.def, text, got, want)
			}
			return len(got) == 0
		}
		if !agree(t.Fatalf, sample.text) {
			t.Errorf("a sample is not valid: %s", sample.text)
		}
		rapid.Check(t, func(rt *rapid.T) {
			var v any
			if err := json.Unmarshal([]byte(sample.text), &v); err != nil {
				rt.Fatal(err)
			}
			v = mutate(rt, v)
			text, err := json.Marshal(v)
			if err != nil {
				rt.Fatal(err)
			}
			agree(rt.Fatalf, string(text))
		})
	}
}

// mutate changes one place of a value.
func mutate(rt *rapid.T, v any) any {
	other := func() any {
		return rapid.SampledFrom([]any{nil, true, "x", "", -1.0, 1.5, 3.0, []any{}, map[string]any{}, "completed", "text"}).Draw(rt, "other")
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || rapid.IntRange(0, 9).Draw(rt, "here") == 0 {
			return other()
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		name := rapid.SampledFrom(names).Draw(rt, "name")
		switch rapid.IntRange(0, 3).Draw(rt, "how") {
		case 0:
			delete(v, name)
		default:
			v[name] = mutate(rt, v[name])
		}
		return v
	case []any:
		if len(v) == 0 || rapid.IntRange(0, 4).Draw(rt, "here") == 0 {
			return other()
		}
		i := rapid.IntRange(0, len(v)-1).Draw(rt, "index")
		v[i] = mutate(rt, v[i])
		return v
	}
	return other()
}

// Members that the protocol does not define are found wherever they are, and
// not where anything goes.
func TestStrangers(t *testing.T) {
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range samples {
		if _, unknown := s.validate(s.defs[sample.def], json.RawMessage(sample.text)); len(unknown) > 0 {
			t.Errorf("%s: %v", sample.text, unknown)
		}
	}
	if _, unknown := s.validate(s.defs["InitializeResponse"], json.RawMessage(`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{},"spoon":{}}}}`)); strings.Join(unknown, ",") != "agentCapabilities.sessionCapabilities.spoon" {
		t.Errorf("capabilities: %v", unknown)
	}
	for text, want := range map[string]string{
		`{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending","x":1}]}}`:                                          "update.entries[0].x",
		`{"sessionId":"s","x":1,"update":{"sessionUpdate":"plan","entries":[]}}`:                                                                                              "x",
		`{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"toolCallId":"c"}}`:                                                                                   "update.toolCallId",
		`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[{"type":"content","content":{"type":"text","text":"x","uri":"u"}}]}}`: "update.content[0].content.uri",
		`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawInput":{"x":1},"rawOutput":{"y":[{"z":1}]},"_meta":{"q":1}}}`:                "",
		`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","locations":[{"path":"/a","column":3}]}}`:                                             "update.locations[0].column",
		`{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"b","name":"B","type":"boolean","currentValue":true,"default":true}]}}`:     "update.configOptions[0].default",
	} {
		_, unknown := s.validate(s.defs["SessionNotification"], json.RawMessage(text))
		if got := strings.Join(unknown, ","); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
