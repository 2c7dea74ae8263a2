package protocol

import (
	"encoding/json"
	"math"
	"time"
)

// sample is an outgoing message and the definition it has to satisfy.
type sample struct {
	name string
	def  string // in $defs of the schema
	msg  interface{ Validate() error }
}

// plainMsg makes a message without rules of its own a sample.
type plainMsg struct{ v any }

func (plainMsg) Validate() error                { return nil }
func (p plainMsg) MarshalJSON() ([]byte, error) { return encode(p.v) }

// samples holds every outgoing type at least twice: with as little as it can
// have, and with everything.
func samples() []sample {
	meta := NewMeta("dsh/x", map[string]any{"a": "<&>"})
	n := func(name string, u SessionUpdate) sample {
		return sample{"update " + name, "SessionNotification", NewSessionNotification("s1", u)}
	}
	size := int64(12)
	blocks := []ContentBlock{
		TextBlock(""),
		{Type: BlockText, Text: "a\n<b> \u2028 é", Annotations: &Annotations{Audience: []string{"user"}, Priority: ptr(0.5), LastModified: ptr("2026-11-30T08:00:00Z"), Meta: meta}, Meta: meta},
		ImageBlock("aGk=", "image/png"),
		{Type: BlockImage, Data: "aGk=", MimeType: "image/png", URI: "file:///a.png", Meta: meta},
		AudioBlock("aGk=", "audio/wav"),
		LinkBlock("file:///a", "a"),
		{Type: BlockResourceLink, URI: "file:///a", Name: "a", Title: "A", Description: "d", MimeType: "text/plain", Size: &size, Meta: meta},
		TextResourceBlock("file:///a", "text/plain", ""),
		BlobResourceBlock("file:///a", "", "aGk="),
	}
	contents := make([]ToolContent, 0, len(blocks)+4)
	for _, b := range blocks {
		contents = append(contents, ShowBlock(b))
	}
	contents = append(contents, ShowText("t"), ShowDiff("/a", nil, "new"), ShowDiff("/a", ptr("old"), ""), ShowTerminal("t1"))
	fullCall := NewToolCall("c1", "Read <a>")
	fullCall.Name, fullCall.Kind, fullCall.Status = "read", KindRead, StatusInProgress
	fullCall.Content, fullCall.Locations = contents, []Location{At("/a", 3), At("/b", 0), At("/c", -1)}
	fullCall.RawInput, fullCall.RawOutput = json.RawMessage(`{"path":"/a","n":12345678901234567890}`), json.RawMessage(`"text"`)
	fullCall.Meta = NewMeta("terminal_info", map[string]string{"terminal_id": "c1", "cwd": "/w"})
	cleared := ToolCallUpdate{ToolCallID: "c1", Content: []ToolContent{}, Locations: []Location{}}
	options := []ConfigOption{
		SelectOption{ID: "model", Name: "Model", Description: "d", Category: CategoryModel, CurrentValue: `["a","b"]`, Meta: meta, Options: Grouped(
			ChoiceGroup{Group: "g", Name: "G", Options: List[Choice]{{Value: `["a","b"]`, Name: "B", Description: "d", Meta: meta}}, Meta: meta},
			ChoiceGroup{Group: "h", Name: "H"})},
		SelectOption{ID: "permission", Name: "Permission", Category: CategoryMode, CurrentValue: "x", Options: Flat(Choice{Value: "x", Name: "X"})},
		BooleanOption{ID: "b", Name: "B", Description: "d", Category: "_own", CurrentValue: false, Meta: meta},
	}
	modes := &Modes{CurrentModeID: "default", AvailableModes: List[Mode]{{ID: "default", Name: "Default", Description: "d", Meta: meta}}, Meta: meta}
	allCaps := AgentCapabilities{
		LoadSession: true, PromptCapabilities: PromptCapabilities{Image: true, Audio: true, EmbeddedContext: true, Meta: meta},
		MCPCapabilities:     MCPCapabilities{HTTP: true, SSE: true, Meta: meta},
		SessionCapabilities: SessionCapabilities{List: Yes(), Delete: Yes(), AdditionalDirectories: Yes(), Resume: Yes(), Close: &Marker{Meta: meta}, Meta: meta},
		Auth:                AuthCapabilities{Logout: Yes(), Meta: meta}, Meta: meta,
	}
	scope := ElicitationScope{SessionID: "s1", ToolCallID: "c1"}
	return []sample{
		n("user chunk", UserChunk("", blocks[0])),
		n("agent chunk", AgentChunk("m1", blocks[1])),
		n("thought chunk", MessageChunk{SessionUpdate: ChunkThought, Content: TextBlock("hm"), MessageID: "m1", Meta: meta}),
		n("thought chunk made", ThoughtChunk("m1", TextBlock("hm"))),
		n("tool call", NewToolCall("c1", "")),
		n("tool call full", fullCall),
		n("tool call update", ToolCallUpdate{ToolCallID: "c1"}.Update()),
		n("tool call update cleared", cleared.Update()),
		n("tool call update full", fullCall.Change().Update()),
		n("plan empty", Plan{}),
		n("plan", Plan{Entries: List[PlanEntry]{
			{Content: "a", Priority: PriorityHigh, Status: PlanPending, Meta: meta},
			{Content: "b", Priority: PriorityMedium, Status: PlanInProgress},
			{Content: "c", Priority: PriorityLow, Status: PlanCompleted},
		}, Meta: meta}),
		n("commands empty", AvailableCommands{}),
		n("commands", AvailableCommands{AvailableCommands: List[Command]{
			{Name: "plan", Description: ""},
			{Name: "x", Description: "d", Input: &CommandInput{Hint: "h", Meta: meta}, Meta: meta},
		}, Meta: meta}),
		n("mode", CurrentMode{CurrentModeID: "plan", Meta: meta}),
		n("options empty", ConfigOptions{}),
		n("options", ConfigOptions{ConfigOptions: options, Meta: meta}),
		n("info empty", SessionInfoUpdate{}),
		n("info cleared", SessionInfoUpdate{Title: ClearText(), UpdatedAt: ClearText()}),
		n("info", SessionInfoUpdate{Title: SetText(""), UpdatedAt: SetText(Timestamp(time.UnixMilli(1796025600123))), Meta: meta}),
		n("usage", Usage{}),
		n("usage full", Usage{Used: 5, Size: math.MaxUint64, Cost: &Cost{Amount: 0.25, Currency: "USD"}, Meta: meta}),
		n("notice", Notice{Severity: SeverityWarning, Title: "t", Description: "d", Meta: meta}),
		n("compaction", Compaction{CompactionID: "k", Status: CompactionInProgress}),
		n("compaction done", Compaction{CompactionID: "k", Status: CompactionCompleted, Summary: blocks, Meta: meta}),
		n("compaction failed", Compaction{CompactionID: "k", Status: CompactionFailed, Error: "e"}),
		n("compaction chunk", CompactionSummaryChunk{CompactionID: "k", Content: TextBlock("s"), Meta: meta}),

		{"initialize", "InitializeResponse", NewInitializeResponse(Implementation{Name: "dsh-acp", Version: "1"}, AgentCapabilities{}, nil)},
		{"initialize full", "InitializeResponse", NewInitializeResponse(Implementation{Name: "dsh-acp", Title: "T", Version: "1", Meta: meta}, allCaps, []AuthMethod{
			AgentAuth("key", "Key", ""),
			TerminalAuth("login", "Log in", "d", []string{"login"}, map[string]string{"A": "b"}),
			{ID: "z", Name: "Z", Meta: NewMeta("terminal-auth", map[string]any{"command": "x"})},
		})},
		{"empty", "AuthenticateResponse", plainMsg{Empty{}}},
		{"empty meta", "LogoutResponse", plainMsg{Empty{Meta: meta}}},
		{"session/new", "NewSessionResponse", NewNewSessionResponse("s1")},
		{"session/new full", "NewSessionResponse", NewSessionResponse{SessionID: "s1", SessionState: SessionState{Modes: modes, ConfigOptions: options, Meta: meta}}},
		{"session/load", "LoadSessionResponse", SessionState{}},
		{"session/resume", "ResumeSessionResponse", SessionState{Modes: modes, ConfigOptions: []ConfigOption{}}},
		{"session/list empty", "ListSessionsResponse", ListSessionsResponse{}},
		{"session/list", "ListSessionsResponse", ListSessionsResponse{Sessions: List[SessionInfo]{
			{SessionID: "s1", Cwd: "/w"},
			{SessionID: "s2", Cwd: "/w", AdditionalDirectories: []string{"/x"}, Title: "t", UpdatedAt: Timestamp(time.UnixMilli(0)), Meta: meta},
		}, NextCursor: "c", Meta: meta}},
		{"set_config_option", "SetSessionConfigOptionResponse", SetConfigOptionResponse{ConfigOptions: options, Meta: meta}},
		{"set_config_option empty", "SetSessionConfigOptionResponse", SetConfigOptionResponse{}},
		{"prompt", "PromptResponse", NewPromptResponse(StopEndTurn)},
		{"prompt meta", "PromptResponse", PromptResponse{StopReason: StopMaxTurnRequests, Meta: meta}},

		{"permission", "RequestPermissionRequest", RequestPermission{SessionID: "s1", ToolCall: fullCall.Change(), Options: List[PermissionOption]{
			NewPermissionOption("allow-once", "Allow once", AllowOnce), NewPermissionOption("allow-always", "Always", AllowAlways),
			NewPermissionOption("reject-once", "Reject", RejectOnce),
			{OptionID: "never", Name: "Never", Kind: RejectAlways, Meta: meta},
		}, Meta: meta}},
		{"fs/read", "ReadTextFileRequest", ReadTextFile{SessionID: "s1", Path: "/a"}},
		{"fs/read lines", "ReadTextFileRequest", ReadTextFile{SessionID: "s1", Path: "/a", Line: 1, Limit: 2, Meta: meta}},
		{"fs/write", "WriteTextFileRequest", WriteTextFile{SessionID: "s1", Path: "/a", Content: "", Meta: meta}},
		{"terminal/create", "CreateTerminalRequest", CreateTerminal{SessionID: "s1", Command: "ls"}},
		{"terminal/create full", "CreateTerminalRequest", CreateTerminal{SessionID: "s1", Command: "ls", Args: []string{"-l"}, Env: []NameValue{{"A", "b"}}, Cwd: "/w", OutputByteLimit: ptr(uint64(0)), Meta: meta}},
		{"terminal/output", "TerminalOutputRequest", TerminalRequest{SessionID: "s1", TerminalID: "t1"}},
		{"terminal/wait", "WaitForTerminalExitRequest", TerminalRequest{SessionID: "s1", TerminalID: "t1", Meta: meta}},
		{"terminal/kill", "KillTerminalRequest", TerminalRequest{SessionID: "s1", TerminalID: "t1"}},
		{"terminal/release", "ReleaseTerminalRequest", TerminalRequest{SessionID: "s1", TerminalID: "t1"}},
		{"elicitation form", "CreateElicitationRequest", FormElicitation{ElicitationScope: scope, Message: "m", Meta: meta, RequestedSchema: FormSchema{
			Title: "T", Description: "D", Required: []string{"z"}, Meta: meta, Properties: FormFields{
				{Name: "z", Type: "string", Title: "Z", Description: "d", MinLength: ptr(uint32(1)), MaxLength: ptr(uint32(2)), Pattern: "a*", Format: "email", Default: json.RawMessage(`"x"`), Meta: meta},
				{Name: "choice", Type: "string", OneOf: []FormChoice{{Const: "a", Title: "A", Description: "d", Meta: meta}}},
				{Name: "enum", Type: "string", Enum: []string{"a"}},
				{Name: "n", Type: "number", Minimum: "0.5", Maximum: "2", Default: json.RawMessage(`1`)},
				{Name: "i", Type: "integer", Minimum: "0", Maximum: "2"},
				{Name: "b", Type: "boolean", Default: json.RawMessage(`false`)},
				{Name: "a", Type: "array", MinItems: ptr(uint64(1)), MaxItems: ptr(uint64(2)), Items: &FormChoices{AnyOf: List[FormChoice]{{Const: "a", Title: "A"}}, Meta: meta}},
			},
		}}},
		{"elicitation form empty", "CreateElicitationRequest", FormElicitation{ElicitationScope: ElicitationScope{RequestID: json.RawMessage(`7`)}, Message: "m"}},
		{"elicitation url", "CreateElicitationRequest", URLElicitation{ElicitationScope: scope, Message: "m", ElicitationID: "e", URL: "https://example.com/", Meta: meta}},
		{"elicitation/complete", "CompleteElicitationNotification", CompleteElicitation{ElicitationID: "e", Meta: meta}},
		{"cancel_request", "CancelRequestNotification", plainMsg{CancelRequest{RequestID: json.RawMessage(`3`)}}},

		{"error parse", "Error", plainMsg{ParseError("x")}},
		{"error request", "Error", plainMsg{InvalidRequest("x")}},
		{"error method", "Error", plainMsg{MethodNotFound("no/such")}},
		{"error params", "Error", plainMsg{InvalidParams("cwd", "no such directory")}},
		{"error params whole", "Error", plainMsg{InvalidParams("", "params must be an object")}},
		{"error internal", "Error", plainMsg{InternalError("turn failed: x").WithDetails("<d>")}},
		{"error auth", "Error", plainMsg{AuthRequired("no key")}},
		{"error not found", "Error", plainMsg{NotFound("session s1")}},
		{"error cancelled", "Error", plainMsg{Cancelled("shutdown")}},
	}
}
