package protocol

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// officialSchema reads the schema of ACP v1 that the conformance kit keeps.
func officialSchema(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../conformance/schema/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

// strict refuses members that a schema does not name, wherever an object can
// stand. The official schema lets them pass, but root keys are reserved: what is
// ours belongs under _meta.
func strict(node any) {
	switch node := node.(type) {
	case map[string]any:
		if members, ok := node["properties"].(map[string]any); ok {
			for _, m := range members {
				closeObject(m)
			}
		}
		closeObject(node["items"])
		closeObject(node["additionalProperties"])
		for _, v := range node {
			strict(v)
		}
	case []any:
		for _, v := range node {
			strict(v)
		}
	}
}

// closeObject closes a schema that describes an object by way of others. One
// that takes anything stays open.
func closeObject(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "properties"} {
		if s[key] != nil {
			s["unevaluatedProperties"] = false
			return
		}
	}
}

func strictCompiler(t *testing.T) func(def string) *jsonschema.Schema {
	doc := officialSchema(t)
	defs := doc["$defs"].(map[string]any)
	strict(doc)
	for _, name := range slices.Collect(maps.Keys(defs)) {
		defs["strict."+name] = map[string]any{"$ref": "#/$defs/" + name, "unevaluatedProperties": false}
	}
	c := jsonschema.NewCompiler()
	const url = "mem:///acp.json"
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	return func(def string) *jsonschema.Schema {
		s, err := c.Compile(url + "#/$defs/strict." + def)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestOutboundAgainstSchema(t *testing.T) {
	compile := strictCompiler(t)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			b, err := encode(s.msg)
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := compile(s.def).Validate(v); err != nil {
				t.Errorf("%s\n%v", b, err)
			}
		})
	}
}

// TestSchemaIsStrict makes sure that the check above can fail.
func TestSchemaIsStrict(t *testing.T) {
	compile := strictCompiler(t)
	for def, text := range map[string]string{
		"PromptResponse":           `{"stopReason":"end_turn","usage":{}}`,
		"SessionNotification":      `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"x":1}}`,
		"RequestPermissionRequest": `{"sessionId":"s","toolCall":{"toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"","x":1}}]},"options":[]}`,
		"InitializeResponse":       `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}`,
		"LoadSessionResponse":      `{"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A","x":1}]}}`,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if compile(def).Validate(v) == nil {
			t.Errorf("%s passes %s", def, text)
		}
	}
}

// TestTags compares the JSON tags of the outgoing types with the properties of
// their definitions, both ways.
func TestTags(t *testing.T) {
	defs := officialSchema(t)["$defs"].(map[string]any)
	for _, tt := range []struct {
		typ   any
		defs  []string
		extra string // properties that stand beside the definitions, such as tags
		less  string // properties we do not send
		ahead string // properties that only the unstable schema has
	}{
		{typ: MessageChunk{}, defs: []string{"ContentChunk"}, extra: "sessionUpdate"},
		{typ: ToolCall{}, defs: []string{"ToolCall"}, extra: "sessionUpdate"},
		{typ: toolCallUpdate{}, defs: []string{"ToolCallUpdate"}, extra: "sessionUpdate"},
		{typ: ToolCallUpdate{}, defs: []string{"ToolCallUpdate"}},
		{typ: Plan{}, defs: []string{"Plan"}, extra: "sessionUpdate"},
		{typ: PlanEntry{}, defs: []string{"PlanEntry"}},
		{typ: AvailableCommands{}, defs: []string{"AvailableCommandsUpdate"}, extra: "sessionUpdate"},
		{typ: Command{}, defs: []string{"AvailableCommand"}},
		{typ: CommandInput{}, defs: []string{"UnstructuredCommandInput"}},
		{typ: CurrentMode{}, defs: []string{"CurrentModeUpdate"}, extra: "sessionUpdate"},
		{typ: ConfigOptions{}, defs: []string{"ConfigOptionUpdate"}, extra: "sessionUpdate"},
		{typ: SessionInfoUpdate{}, defs: []string{"SessionInfoUpdate"}, extra: "sessionUpdate"},
		{typ: Usage{}, defs: []string{"UsageUpdate"}, extra: "sessionUpdate"},
		{typ: Cost{}, defs: []string{"Cost"}, less: "_meta"},
		{typ: Notice{}, defs: []string{"Notice"}, extra: "sessionUpdate"},
		{typ: Compaction{}, defs: []string{"CompactionUpdate"}, extra: "sessionUpdate"},
		{typ: CompactionSummaryChunk{}, defs: []string{"CompactionSummaryChunk"}, extra: "sessionUpdate"},
		{typ: SessionNotification{}, defs: []string{"SessionNotification"}},
		{typ: BlockContent{}, defs: []string{"Content"}, extra: "type"},
		{typ: DiffContent{}, defs: []string{"Diff"}, extra: "type"},
		{typ: TerminalContent{}, defs: []string{"Terminal"}, extra: "type"},
		{typ: Location{}, defs: []string{"ToolCallLocation"}},
		{typ: textBlock{}, defs: []string{"TextContent"}, extra: "type"},
		{typ: imageBlock{}, defs: []string{"ImageContent"}, extra: "type"},
		{typ: audioBlock{}, defs: []string{"AudioContent"}, extra: "type"},
		{typ: linkBlock{}, defs: []string{"ResourceLink"}, extra: "type"},
		{typ: resourceBlock{}, defs: []string{"EmbeddedResource"}, extra: "type"},
		{typ: resourceContents{}, defs: []string{"EmbeddedResourceResource"}},
		{typ: Annotations{}, defs: []string{"Annotations"}},
		{typ: Mode{}, defs: []string{"SessionMode"}},
		{typ: Modes{}, defs: []string{"SessionModeState"}},
		{typ: SelectOption{}, defs: []string{"SessionConfigOption"}},
		{typ: BooleanOption{}, defs: []string{"SessionConfigOption"}, less: "options"},
		{typ: Choice{}, defs: []string{"SessionConfigSelectOption"}},
		{typ: ChoiceGroup{}, defs: []string{"SessionConfigSelectGroup"}},
		{typ: InitializeResponse{}, defs: []string{"InitializeResponse"}},
		{typ: AgentCapabilities{}, defs: []string{"AgentCapabilities"}},
		{typ: PromptCapabilities{}, defs: []string{"PromptCapabilities"}},
		{typ: MCPCapabilities{}, defs: []string{"McpCapabilities"}},
		{typ: SessionCapabilities{}, defs: []string{"SessionCapabilities"}, ahead: "fork title"},
		{typ: AuthCapabilities{}, defs: []string{"AgentAuthCapabilities"}},
		{typ: Marker{}, defs: []string{"SessionListCapabilities", "LogoutCapabilities"}},
		{typ: AuthMethod{}, defs: []string{"AuthMethod"}},
		{typ: Implementation{}, defs: []string{"Implementation"}},
		{typ: Empty{}, defs: []string{"AuthenticateResponse", "LogoutResponse", "CloseSessionResponse", "DeleteSessionResponse", "SetSessionModeResponse"}},
		{typ: NewSessionResponse{}, defs: []string{"NewSessionResponse"}},
		{typ: SessionState{}, defs: []string{"LoadSessionResponse"}},
		{typ: SessionState{}, defs: []string{"ResumeSessionResponse"}},
		{typ: SessionInfo{}, defs: []string{"SessionInfo"}},
		{typ: ListSessionsResponse{}, defs: []string{"ListSessionsResponse"}},
		{typ: SetConfigOptionResponse{}, defs: []string{"SetSessionConfigOptionResponse"}},
		{typ: PromptResponse{}, defs: []string{"PromptResponse"}},
		{typ: RequestPermission{}, defs: []string{"RequestPermissionRequest"}},
		{typ: PermissionOption{}, defs: []string{"PermissionOption"}},
		{typ: ReadTextFile{}, defs: []string{"ReadTextFileRequest"}},
		{typ: WriteTextFile{}, defs: []string{"WriteTextFileRequest"}},
		{typ: CreateTerminal{}, defs: []string{"CreateTerminalRequest"}},
		{typ: NameValue{}, defs: []string{"EnvVariable"}, less: "_meta"},
		{typ: TerminalRequest{}, defs: []string{"TerminalOutputRequest", "WaitForTerminalExitRequest", "KillTerminalRequest", "ReleaseTerminalRequest"}},
		{typ: FormElicitation{}, defs: []string{"CreateElicitationRequest"}, less: "elicitationId url"},
		{typ: URLElicitation{}, defs: []string{"CreateElicitationRequest"}, less: "requestedSchema"},
		{typ: FormSchema{}, defs: []string{"ElicitationSchema"}},
		{typ: FormField{}, defs: []string{"ElicitationPropertySchema"}},
		{typ: FormChoice{}, defs: []string{"EnumOption"}},
		{typ: FormChoices{}, defs: []string{"MultiSelectItems"}, less: "enum type"},
		{typ: CompleteElicitation{}, defs: []string{"CompleteElicitationNotification"}},
		{typ: CancelRequest{}, defs: []string{"CancelRequestNotification"}, less: "_meta"},
		{typ: Error{}, defs: []string{"Error"}},
	} {
		typ := reflect.TypeOf(tt.typ)
		t.Run(typ.Name(), func(t *testing.T) {
			tags, optional := map[string]bool{}, map[string]bool{}
			collectTags(typ, tags, optional)
			for _, def := range tt.defs {
				want := map[string]bool{}
				collectProperties(defs, defs[def], want)
				for _, name := range strings.Fields(tt.extra) {
					want[name] = true
				}
				for _, name := range strings.Fields(tt.ahead) {
					want[name] = true
				}
				for _, name := range strings.Fields(tt.less) {
					delete(want, name)
				}
				got, wanted := slices.Sorted(maps.Keys(tags)), slices.Sorted(maps.Keys(want))
				if !slices.Equal(got, wanted) {
					t.Errorf("%s\ngot  %v\nwant %v", def, got, wanted)
				}
				required, _ := defs[def].(map[string]any)["required"].([]any)
				for _, name := range required {
					if optional[name.(string)] {
						t.Errorf("%s: %s is required but may be left out", def, name)
					}
				}
			}
		})
	}
}

func collectTags(typ reflect.Type, tags, optional map[string]bool) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			collectTags(f.Type, tags, optional)
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		tags[name] = true
		optional[name] = opts != ""
	}
}

func collectProperties(defs map[string]any, node any, into map[string]bool) {
	s, ok := node.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		collectProperties(defs, defs[strings.TrimPrefix(ref, "#/$defs/")], into)
	}
	if props, ok := s["properties"].(map[string]any); ok {
		for name := range props {
			into[name] = true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, sub := range list {
			collectProperties(defs, sub, into)
		}
	}
}

// TestMethods compares our method names with those of the schema, so that no
// stable method is misspelt or forgotten.
func TestMethods(t *testing.T) {
	defs := officialSchema(t)["$defs"].(map[string]any)
	want := map[string]bool{}
	for _, def := range defs {
		if m, ok := def.(map[string]any)["x-method"].(string); ok {
			want[m] = true
		}
	}
	got := map[string]bool{}
	for _, m := range []string{
		MethodInitialize, MethodAuthenticate, MethodLogout, MethodSessionNew, MethodSessionLoad, MethodSessionResume,
		MethodSessionList, MethodSessionDelete, MethodSessionClose, MethodSessionPrompt, MethodSessionCancel,
		MethodSessionSetMode, MethodSetConfigOption, MethodSessionUpdate, MethodRequestPermission, MethodReadTextFile,
		MethodWriteTextFile, MethodTerminalCreate, MethodTerminalOutput, MethodTerminalWaitForExit, MethodTerminalKill,
		MethodTerminalRelease, MethodElicitationCreate, MethodElicitationComplete, MethodCancelRequest,
	} {
		got[m] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// The sample of a message must be what decoding and encoding it again gives:
// nothing in it depends on how the encoder was called.
func TestSamplesAreCompact(t *testing.T) {
	for _, s := range samples() {
		b, err := encode(s.msg)
		if err != nil {
			t.Fatal(err)
		}
		var c bytes.Buffer
		if err := json.Compact(&c, b); err != nil || !bytes.Equal(c.Bytes(), b) {
			t.Errorf("%s is not compact: %s (%v)", s.name, b, err)
		}
		if bytes.Contains(b, []byte(`\u003c`)) {
			t.Errorf("%s escapes HTML: %s", s.name, b)
		}
	}
}
