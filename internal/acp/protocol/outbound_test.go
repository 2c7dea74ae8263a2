package protocol

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestOutboundGolden(t *testing.T) {
	const file = "testdata/outbound.golden"
	var got bytes.Buffer
	for _, s := range samples() {
		if err := s.msg.Validate(); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		b, err := encode(s.msg)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		fmt.Fprintf(&got, "%s\n\t%s\n", s.name, b)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("line %d\ngot  %s\nwant %s", i+1, g, w)
		}
	}
}

func TestInvalidOutbound(t *testing.T) {
	call := NewToolCall("c", "t")
	with := func(f func(*ToolCall)) ToolCall { c := call; f(&c); return c }
	ask := func(f func(*RequestPermission)) RequestPermission {
		r := NewRequestPermission("s", call.Change(), []PermissionOption{NewPermissionOption("a", "A", AllowOnce)})
		f(&r)
		return r
	}
	selectOf := func(current string, c ...Choice) SelectOption {
		return SelectOption{ID: "i", Name: "n", CurrentValue: current, Options: Flat(c...)}
	}
	field := func(f FormField) FormElicitation {
		return FormElicitation{ElicitationScope: ElicitationScope{SessionID: "s"}, Message: "m", RequestedSchema: FormSchema{Properties: FormFields{f}}}
	}
	for _, tt := range []struct {
		name string
		msg  interface{ Validate() error }
		want string
	}{
		{"no session", NewSessionNotification("", Plan{}), "sessionId is empty"},
		{"no update", NewSessionNotification("s", nil), "update is missing"},
		{"update inside", NewSessionNotification("s", CurrentMode{}), "currentModeId is empty"},
		{"chunk kind", MessageChunk{Content: TextBlock("")}, `sessionUpdate "" is not a value of the protocol`},
		{"block type", AgentChunk("", ContentBlock{Type: "video"}), "type of a content block is unknown: video"},
		{"block without data type", AgentChunk("", ContentBlock{Type: BlockImage}), "mimeType is empty"},
		{"empty resource", AgentChunk("", ContentBlock{Type: BlockResource, Resource: &ResourceContents{URI: "u"}}), "resource needs either text or blob"},
		{"no resource", AgentChunk("", ContentBlock{Type: BlockResource}), "resource is missing"},
		{"no title", with(func(c *ToolCall) { c.Title = "" }), "title is empty"},
		{"no id", with(func(c *ToolCall) { c.ToolCallID = "" }), "toolCallId is empty"},
		{"kind", with(func(c *ToolCall) { c.Kind = "paint" }), `kind "paint" is not a value of the protocol`},
		{"status", with(func(c *ToolCall) { c.Status = "cancelled" }), `status "cancelled" is not a value of the protocol`},
		{"relative diff", with(func(c *ToolCall) { c.Content = []ToolContent{ShowText("x"), ShowDiff("a", nil, "")} }), `content[1].path "a" is not an absolute path`},
		{"no terminal", with(func(c *ToolCall) { c.Content = []ToolContent{ShowTerminal("")} }), "content[0].terminalId is empty"},
		{"relative location", with(func(c *ToolCall) { c.Locations = []Location{At("a/b", 1)} }), `locations[0].path "a/b" is not an absolute path`},
		{"raw input", with(func(c *ToolCall) { c.RawInput = json.RawMessage("{") }), "rawInput is not JSON text"},
		{"priority", Plan{Entries: List[PlanEntry]{{Status: PlanPending}}}, `entries[0].priority "" is not`},
		{"slash", AvailableCommands{AvailableCommands: List[Command]{{Name: "/x"}}}, "availableCommands[0].name must not begin with a slash"},
		{"cost", Usage{Cost: &Cost{Amount: math.NaN(), Currency: "USD"}}, "cost.amount is not a number"},
		{"severity", Notice{Title: "t"}, "severity"},
		{"compaction status", Compaction{CompactionID: "k"}, "status"},
		{"stop reason", NewPromptResponse("error"), `stopReason "error" is not a value of the protocol`},
		{"mode not there", SessionState{Modes: &Modes{CurrentModeID: "x"}}, "currentModeId is not among the modes: x"},
		{"no choice", selectOf("x"), "currentValue is not among the options: x"},
		{"choice twice", selectOf("x", Choice{Value: "x", Name: "X"}, Choice{Value: "x", Name: "Y"}), "options have a value twice: x"},
		{"auth args", InitializeResponse{AuthMethods: List[AuthMethod]{{ID: "i", Name: "n", Args: []string{"a"}}}}, "authMethods[0].args and env belong to terminal methods only"},
		{"list cwd", ListSessionsResponse{Sessions: List[SessionInfo]{{SessionID: "s", Cwd: "w"}}}, `sessions[0].cwd "w" is not an absolute path`},
		{"list directory", ListSessionsResponse{Sessions: List[SessionInfo]{{SessionID: "s", Cwd: "/w", AdditionalDirectories: []string{"x"}}}}, "additionalDirectories[0]"},
		{"nothing to choose", ask(func(r *RequestPermission) { r.Options = nil }), "options are missing"},
		{"kind twice", ask(func(r *RequestPermission) {
			r.Options = append(r.Options, NewPermissionOption("b", "B", AllowOnce))
		}), "options have an id or a kind twice: b"},
		{"asked without title", ask(func(r *RequestPermission) { r.ToolCall.Title = "" }), "toolCall.title is empty"},
		{"relative read", ReadTextFile{SessionID: "s", Path: "a"}, "path"},
		{"terminal cwd", CreateTerminal{SessionID: "s", Command: "c", Cwd: "w"}, "cwd"},
		{"two scopes", ElicitationScope{SessionID: "s", RequestID: json.RawMessage("1")}, "either a session or a request"},
		{"field limits", field(FormField{Name: "a", Type: "boolean", MinLength: ptr(uint32(1))}), "type does not go with the limits of a"},
		{"field without items", field(FormField{Name: "a", Type: "array"}), "items are missing"},
		{"field type", field(FormField{Name: "a", Type: "object"}), `type "object" is not a value of the protocol`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.msg.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	e := InvalidParams("cwd", "no such directory")
	if got := e.Error(); got != "Invalid params: cwd: no such directory (-32602)" {
		t.Error(got)
	}
	if e.WithData(func() {}); string(e.Data) != `{"field":"cwd"}` {
		t.Errorf("data %s", e.Data)
	}
}
