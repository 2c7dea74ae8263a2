package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// decoders are the decoders of parameters, by method.
var decoders = map[string]func(json.RawMessage) (any, *Error){
	MethodInitialize:      wrap(DecodeInitialize),
	MethodAuthenticate:    wrap(DecodeAuthenticate),
	MethodLogout:          func(p json.RawMessage) (any, *Error) { return nil, DecodeLogout(p) },
	MethodSessionNew:      wrap(DecodeNewSession),
	MethodSessionLoad:     wrap(DecodeLoadSession),
	MethodSessionResume:   wrap(DecodeLoadSession),
	MethodSessionList:     wrap(DecodeListSessions),
	MethodSessionDelete:   wrap(DecodeSession),
	MethodSessionClose:    wrap(DecodeSession),
	MethodSessionCancel:   wrap(DecodeSession),
	MethodSessionPrompt:   wrap(DecodePrompt),
	MethodSessionSetMode:  wrap(DecodeSetMode),
	MethodSetConfigOption: wrap(DecodeSetConfigOption),
	MethodCancelRequest:   wrap(DecodeCancelRequest),
}

func wrap[T any](f func(json.RawMessage) (T, *Error)) func(json.RawMessage) (any, *Error) {
	return func(p json.RawMessage) (any, *Error) {
		v, err := f(p)
		return v, err
	}
}

func TestInboundFaults(t *testing.T) {
	for _, tt := range []struct{ method, params, field, message string }{
		{MethodInitialize, ``, "protocolVersion", "protocolVersion is required"},
		{MethodInitialize, `null`, "protocolVersion", "protocolVersion is required"},
		{MethodInitialize, `[1]`, "", "params must be an object"},
		{MethodInitialize, `{"protocolVersion":"1.0"}`, "protocolVersion", "protocolVersion must be an integer"},
		{MethodInitialize, `{"protocolVersion":1.5}`, "protocolVersion", "protocolVersion must be an integer"},
		{MethodInitialize, `{"protocolVersion":-1}`, "protocolVersion", "protocolVersion must be between 0 and 65535"},
		{MethodInitialize, `{"protocolVersion":1e300}`, "protocolVersion", "protocolVersion must be an integer"},
		{MethodAuthenticate, `{}`, "methodId", "methodId is required"},
		{MethodLogout, `"x"`, "", "params must be an object"},
		{MethodSessionNew, `{}`, "cwd", "cwd is required"},
		{MethodSessionNew, `{"cwd":null}`, "cwd", "cwd is required"},
		{MethodSessionNew, `{"CWD":"/w"}`, "cwd", "cwd is required"},
		{MethodSessionNew, `{"cwd":7}`, "cwd", "cwd must be a string"},
		{MethodSessionNew, `{"cwd":"w"}`, "cwd", "cwd must be an absolute path"},
		{MethodSessionNew, `{"cwd":""}`, "cwd", "cwd must be an absolute path"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":{}}`, "mcpServers", "mcpServers must be an array"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":["x"]}`, "mcpServers[0]", "mcpServers[0] must be an object"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":[{"name":"a","command":"b"},{"name":"n"}]}`, "mcpServers[1].command", "mcpServers[1].command is required"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":[1]}]}`, "mcpServers[0].args[0]", "mcpServers[0].args[0] must be a string"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":[{"name":"n","command":"c","env":[{"name":"A"}]}]}`, "mcpServers[0].env[0].value", "mcpServers[0].env[0].value is required"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":[{"name":"n","type":"http"}]}`, "mcpServers[0].url", "mcpServers[0].url is required"},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":[{"name":"n","type":"acp"}]}`, "mcpServers[0].type", `mcpServers[0].type is not a known transport: "acp"`},
		{MethodSessionNew, `{"cwd":"/w","additionalDirectories":["/a","b"]}`, "additionalDirectories[1]", "additionalDirectories[1] must be an absolute path"},
		{MethodSessionLoad, `{"cwd":"/w"}`, "sessionId", "sessionId is required"},
		{MethodSessionResume, `{"sessionId":"s"}`, "cwd", "cwd is required"},
		{MethodSessionList, `{"cwd":"w"}`, "cwd", "cwd must be an absolute path"},
		{MethodSessionList, `{"cursor":1}`, "cursor", "cursor must be a string"},
		{MethodSessionDelete, `{"sessionId":1}`, "sessionId", "sessionId must be a string"},
		{MethodSessionClose, ``, "sessionId", "sessionId is required"},
		{MethodSessionPrompt, `{"sessionId":"s"}`, "prompt", "prompt is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":"hi"}`, "prompt", "prompt must be an array"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":["hi"]}`, "prompt[0]", "prompt[0] must be an object"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"text":"hi"}]}`, "prompt[0].type", "prompt[0].type is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"video"}]}`, "prompt[2].type", `prompt[2].type is not a known content block type: "video"`},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"text"}]}`, "prompt[0].text", "prompt[0].text is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"image","data":""}]}`, "prompt[0].mimeType", "prompt[0].mimeType is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"audio","mimeType":"a"}]}`, "prompt[0].data", "prompt[0].data is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"resource_link","uri":"u"}]}`, "prompt[0].name", "prompt[0].name is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"resource_link","uri":"u","name":"n","size":"1"}]}`, "prompt[0].size", "prompt[0].size must be an integer"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"resource"}]}`, "prompt[0].resource", "prompt[0].resource is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"u"}}]}`, "prompt[0].resource.text", "prompt[0].resource.text or blob is required"},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"resource","resource":[]}]}`, "prompt[0].resource", "prompt[0].resource must be an object"},
		{MethodSessionSetMode, `{"sessionId":"s"}`, "modeId", "modeId is required"},
		{MethodSetConfigOption, `{"sessionId":"s","configId":"c"}`, "value", "value is required"},
		{MethodSetConfigOption, `{"sessionId":"s","configId":"c","value":true}`, "value", "value must be a string"},
		{MethodSetConfigOption, `{"sessionId":"s","configId":"c","type":"boolean","value":"x"}`, "value", "value must be true or false"},
		{MethodCancelRequest, `{}`, "requestId", "requestId is required"},
	} {
		t.Run(tt.method+" "+tt.params, func(t *testing.T) {
			_, err := decoders[tt.method](json.RawMessage(tt.params))
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Code != CodeInvalidParams || err.Message != "Invalid params: "+tt.message {
				t.Errorf("got %v, want %s", err, tt.message)
			}
			want := ""
			if tt.field != "" {
				want = fmt.Sprintf(`{"field":%q}`, tt.field)
			}
			if string(err.Data) != want {
				t.Errorf("data %s, want %s", err.Data, want)
			}
		})
	}
}

func TestInbound(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		method, params string
		want           any
	}{
		{MethodInitialize, `{"protocolVersion":99}`, InitializeRequest{ProtocolVersion: 99}},
		{MethodInitialize, `{"protocolVersion":1.0,"clientCapabilities":null,"clientInfo":null}`, InitializeRequest{ProtocolVersion: 1}},
		// The shape of a newer protocol, and nonsense, count as nothing announced.
		{MethodInitialize, `{"protocolVersion":2,"info":{"name":"x"},"capabilities":{"session":{}},"clientCapabilities":[1],"clientInfo":"x"}`, InitializeRequest{ProtocolVersion: 2}},
		{MethodInitialize, `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":"yes","writeTextFile":null},"terminal":1,"auth":null,"elicitation":{"form":null,"url":true},"session":{"notices":true}}}`, InitializeRequest{ProtocolVersion: 1}},
		{
			MethodInitialize, `{"protocolVersion":1,"clientInfo":{"name":"zed","title":"Zed","version":"1","_meta":{"platform":"x"}},"clientCapabilities":{
			"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"auth":{"terminal":true,"_meta":{"gateway":true}},"elicitation":{"form":{},"url":{}},
			"session":{"configOptions":{"boolean":{}},"notices":{},"compaction":{}},"_meta":{"terminal_output":true}}}`,
			InitializeRequest{
				ProtocolVersion: 1,
				ClientInfo:      &Implementation{Name: "zed", Title: "Zed", Version: "1", Meta: Meta{"platform": json.RawMessage(`"x"`)}},
				Capabilities: ClientCapabilities{
					ReadTextFile: true, WriteTextFile: true, Terminal: true, TerminalAuth: true, FormElicitation: true, URLElicitation: true,
					BooleanOptions: true, Notices: true, Compaction: true,
					Meta: Meta{"terminal_output": json.RawMessage("true")}, AuthMeta: Meta{"gateway": json.RawMessage("true")},
				},
			},
		},
		{MethodAuthenticate, `{"methodId":"m","x":1}`, AuthenticateRequest{MethodID: "m"}},
		{MethodSessionNew, `{"cwd":"/w"}`, SessionSetup{Cwd: "/w"}},
		{MethodSessionNew, `{"cwd":"/w","mcpServers":null,"additionalDirectories":null,"_meta":null}`, SessionSetup{Cwd: "/w"}},
		{
			MethodSessionNew, `{"cwd":"/w","additionalDirectories":["/x"],"mcpServers":[
			{"name":"a","command":"/c","args":null,"env":null},
			{"type":"stdio","name":"b","command":"/c","args":["x"],"env":[{"name":"A","value":""}]},
			{"type":"http","name":"c","url":"u","headers":[{"name":"H","value":"v"}]},
			{"type":"sse","name":"d","url":"u"}],"_meta":{"k":1}}`,
			SessionSetup{
				Cwd: "/w", AdditionalDirectories: []string{"/x"}, Meta: Meta{"k": json.RawMessage("1")},
				MCPServers: []MCPServer{
					{Transport: TransportStdio, Name: "a", Command: "/c"},
					{Transport: TransportStdio, Name: "b", Command: "/c", Args: []string{"x"}, Env: []NameValue{{"A", ""}}},
					{Transport: TransportHTTP, Name: "c", URL: "u", Headers: []NameValue{{"H", "v"}}},
					{Transport: TransportSSE, Name: "d", URL: "u"},
				},
			},
		},
		{MethodSessionLoad, `{"cwd":"/w","sessionId":"s","mcpServers":[]}`, SessionSetup{Cwd: "/w", SessionID: "s"}},
		{MethodSessionList, ``, ListSessionsRequest{}},
		{MethodSessionList, `{}`, ListSessionsRequest{}},
		{MethodSessionList, `{"cwd":"/w","cursor":"c"}`, ListSessionsRequest{Cwd: "/w", Cursor: "c"}},
		{MethodSessionCancel, `{"sessionId":"s"}`, SessionRequest{SessionID: "s"}},
		{MethodSessionPrompt, `{"sessionId":"s","prompt":[]}`, PromptRequest{SessionID: "s"}},
		{
			MethodSessionPrompt, `{"sessionId":"s","prompt":[{"type":"text","text":"","annotations":{"audience":5}},{"type":"image","data":"d","mimeType":"m","uri":null}]}`,
			PromptRequest{SessionID: "s", Prompt: []ContentBlock{TextBlock(""), ImageBlock("d", "m")}},
		},
		{MethodSessionSetMode, `{"sessionId":"s","modeId":"m"}`, SetModeRequest{SessionID: "s", ModeID: "m"}},
		{MethodSetConfigOption, `{"sessionId":"s","configId":"c","value":"v"}`, SetConfigOptionRequest{SessionID: "s", ConfigID: "c", Value: "v"}},
		{MethodSetConfigOption, `{"sessionId":"s","configId":"c","type":"boolean","value":true}`, SetConfigOptionRequest{SessionID: "s", ConfigID: "c", Bool: &yes}},
		{MethodCancelRequest, `{"requestId":"r"}`, CancelRequest{RequestID: json.RawMessage(`"r"`)}},
	} {
		t.Run(tt.method+" "+tt.params, func(t *testing.T) {
			got, err := decoders[tt.method](json.RawMessage(tt.params))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %#v\nwant %#v", got, tt.want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	code := uint32(2)
	for _, tt := range []struct {
		name, result string
		decode       func(json.RawMessage) (any, error)
		want         any
		fault        string
	}{
		{"selected", `{"outcome":{"outcome":"selected","optionId":"a"}}`, answer(DecodePermissionOutcome), PermissionOutcome{OptionID: "a"}, ""},
		{"cancelled", `{"outcome":{"outcome":"cancelled","optionId":"a"}}`, answer(DecodePermissionOutcome), PermissionOutcome{Cancelled: true}, ""},
		{"unknown outcome", `{"outcome":{"outcome":"allowed"}}`, answer(DecodePermissionOutcome), nil, `outcome.outcome is not a known outcome: "allowed"`},
		{"no option", `{"outcome":{"outcome":"selected"}}`, answer(DecodePermissionOutcome), nil, "outcome.optionId is required"},
		{"bare outcome", `{"outcome":"selected"}`, answer(DecodePermissionOutcome), nil, "outcome must be an object"},
		{"null", `null`, answer(DecodePermissionOutcome), nil, "outcome is required"},
		{"file", `{"content":""}`, answer(DecodeReadTextFile), "", ""},
		{"no file", `{"error":"x"}`, answer(DecodeReadTextFile), nil, "content is required"},
		{"terminal", `{"terminalId":"t"}`, answer(DecodeCreateTerminal), "t", ""},
		{"running", `{"output":"o","truncated":true,"exitStatus":null}`, answer(DecodeTerminalOutput), TerminalOutput{Output: "o", Truncated: true}, ""},
		{"ended", `{"output":"","truncated":false,"exitStatus":{"exitCode":2}}`, answer(DecodeTerminalOutput), TerminalOutput{Exit: &ExitStatus{ExitCode: &code}}, ""},
		{"killed", `{"exitCode":null,"signal":"SIGKILL"}`, answer(DecodeWaitForExit), ExitStatus{Signal: "SIGKILL"}, ""},
		{"accept", `{"action":"accept","content":{"a":1}}`, answer(DecodeElicitation), ElicitationAnswer{Accepted: true, Content: map[string]json.RawMessage{"a": json.RawMessage("1")}}, ""},
		{"decline", `{"action":"decline"}`, answer(DecodeElicitation), ElicitationAnswer{Declined: true}, ""},
		{"other action", `{"action":"later"}`, answer(DecodeElicitation), ElicitationAnswer{}, ""},
		{"no action", `{}`, answer(DecodeElicitation), nil, "action is required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.decode(json.RawMessage(tt.result))
			if tt.fault != "" {
				fault, ok := err.(*Error)
				if !ok || fault.Code != CodeInternalError || !strings.Contains(fault.Message, tt.fault) {
					t.Errorf("got %v, want %s", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %#v\nwant %#v", got, tt.want)
			}
		})
	}
}

func answer[T any](f func(json.RawMessage) (T, error)) func(json.RawMessage) (any, error) {
	return func(r json.RawMessage) (any, error) { return f(r) }
}

// What is written as a content block is read as the same block.
func TestBlockRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return rapid.String().Draw(t, label) }
		full := func(label string) string { return rapid.StringN(1, -1, -1).Draw(t, label) }
		var b ContentBlock
		switch rapid.SampledFrom([]BlockType{BlockText, BlockImage, BlockAudio, BlockResourceLink, BlockResource}).Draw(t, "type") {
		case BlockText:
			b = TextBlock(text("text"))
		case BlockImage:
			b = ImageBlock(text("data"), full("mime"))
			b.URI = text("uri")
		case BlockAudio:
			b = AudioBlock(text("data"), full("mime"))
		case BlockResourceLink:
			b = LinkBlock(full("uri"), full("name"))
			b.Title, b.Description, b.MimeType = text("title"), text("description"), text("mime")
			if rapid.Bool().Draw(t, "sized") {
				b.Size = ptr(rapid.Int64().Draw(t, "size"))
			}
		case BlockResource:
			if rapid.Bool().Draw(t, "binary") {
				b = BlobResourceBlock(full("uri"), text("mime"), text("blob"))
			} else {
				b = TextResourceBlock(full("uri"), text("mime"), text("text"))
			}
		}
		if rapid.Bool().Draw(t, "meta") {
			b.Meta = NewMeta(text("key"), text("value"))
		}
		raw, err := encode(map[string]any{"sessionId": "s", "prompt": []ContentBlock{b}})
		if err != nil {
			t.Fatal(err)
		}
		got, fault := DecodePrompt(raw)
		if fault != nil {
			t.Fatal(fault)
		}
		if !reflect.DeepEqual(got.Prompt, []ContentBlock{b}) {
			t.Fatalf("got  %#v\nwant %#v", got.Prompt, b)
		}
	})
}

// FuzzDecode gives arbitrary parameters to every decoder: none may panic, and a
// refusal is always -32602 with a sentence.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"u","text":null,"blob":"x"}}]}`,
		`{"cwd":"/w","mcpServers":[{"name":"a","command":"/c","args":[null]}]}`, `{"protocolVersion":1,"clientCapabilities":{"session":{"configOptions":[]}}}`,
		`{"sessionId":"s","configId":"c","type":"boolean","value":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 0 && !json.Valid(data) {
			return // the transport lets only JSON text through
		}
		for method, decode := range decoders {
			_, err := decode(data)
			if err != nil && (err.Code != CodeInvalidParams || !strings.HasPrefix(err.Message, "Invalid params: ")) {
				t.Errorf("%s: %v", method, err)
			}
		}
		_, _ = DecodePermissionOutcome(data)
		_, _ = DecodeTerminalOutput(data)
		_, _ = DecodeWaitForExit(data)
		_, _ = DecodeElicitation(data)
	})
}
