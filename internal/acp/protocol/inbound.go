package protocol

import (
	"encoding/json"
	"math"
)

// Implementation names a program on one end of the connection.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
	Meta    Meta   `json:"_meta,omitempty"`
}

// ClientCapabilities say what the client can do. Whatever it did not say, or
// said in a form the protocol does not know, it cannot.
type ClientCapabilities struct {
	// ReadTextFile and WriteTextFile allow the fs methods.
	ReadTextFile, WriteTextFile bool
	// Terminal allows all terminal methods.
	Terminal bool
	// TerminalAuth allows authentication methods that run in a terminal.
	TerminalAuth bool
	// FormElicitation and URLElicitation allow the modes of elicitation/create.
	FormElicitation, URLElicitation bool
	// BooleanOptions allows config options of type boolean.
	BooleanOptions bool
	// Notices and Compaction allow the session updates of those names.
	Notices, Compaction bool
	// Meta is the _meta of the capabilities, where clients announce what the
	// protocol does not define, such as terminal_output.
	Meta Meta
	// AuthMeta is the _meta of the auth capabilities.
	AuthMeta Meta
}

// InitializeRequest are the parameters of initialize.
type InitializeRequest struct {
	// ProtocolVersion is the latest version the client speaks.
	ProtocolVersion uint16
	Capabilities    ClientCapabilities
	// ClientInfo is nil when the client did not introduce itself.
	ClientInfo *Implementation
	Meta       Meta
}

// DecodeInitialize reads the parameters of initialize. Only the version can be
// wrong: a client of a newer protocol, whose other members differ, must still
// get an answer.
func DecodeInitialize(params json.RawMessage) (InitializeRequest, *Error) {
	d := decodeParams(params)
	var r InitializeRequest
	version, ok := d.integer("protocolVersion", 0, math.MaxUint16)
	if !ok {
		d.missing("protocolVersion")
	}
	r.ProtocolVersion, r.Meta = uint16(version), d.meta()
	if caps := d.part("clientCapabilities"); caps != nil {
		r.Capabilities = decodeCapabilities(caps)
	}
	if info := d.part("clientInfo"); info != nil {
		r.ClientInfo = &Implementation{Name: info.loose("name"), Title: info.loose("title"), Version: info.loose("version"), Meta: info.meta()}
	}
	return r, d.fault()
}

func decodeCapabilities(d *decoder) ClientCapabilities {
	fs, auth, elicit, session := d.part("fs"), d.part("auth"), d.part("elicitation"), d.part("session")
	c := ClientCapabilities{
		ReadTextFile: fs.flag("readTextFile"), WriteTextFile: fs.flag("writeTextFile"),
		Terminal: d.flag("terminal"), TerminalAuth: auth.flag("terminal"),
		FormElicitation: elicit.marker("form"), URLElicitation: elicit.marker("url"),
		Notices: session.marker("notices"), Compaction: session.marker("compaction"),
		Meta: d.meta(),
	}
	if auth != nil {
		c.AuthMeta = auth.meta()
	}
	if session != nil {
		c.BooleanOptions = session.part("configOptions").marker("boolean")
	}
	return c
}

// loose reads a string; anything else is "".
func (d *decoder) loose(key string) string {
	var s string
	_ = json.Unmarshal(d.members[key], &s)
	return s
}

// AuthenticateRequest are the parameters of authenticate.
type AuthenticateRequest struct {
	MethodID string
	Meta     Meta
}

// DecodeAuthenticate reads the parameters of authenticate.
func DecodeAuthenticate(params json.RawMessage) (AuthenticateRequest, *Error) {
	d := decodeParams(params)
	r := AuthenticateRequest{MethodID: d.str("methodId"), Meta: d.meta()}
	return r, d.fault()
}

// DecodeLogout checks the parameters of logout, which are none.
func DecodeLogout(params json.RawMessage) *Error { return decodeParams(params).fault() }

// NameValue is an environment variable or an HTTP header.
type NameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Transport tells how an MCP server is reached.
type Transport string

// The transports of MCP servers.
const (
	TransportStdio Transport = "stdio"
	TransportHTTP  Transport = "http"
	TransportSSE   Transport = "sse"
)

// MCPServer is an MCP server the client wants the session to use.
type MCPServer struct {
	Transport Transport
	Name      string
	// Command, Args and Env belong to stdio.
	Command string
	Args    []string
	Env     []NameValue
	// URL and Headers belong to http and sse.
	URL     string
	Headers []NameValue
	Meta    Meta
}

func decodeServers(d *decoder) []MCPServer {
	var list []MCPServer
	d.objects("mcpServers", func(d *decoder) {
		s := MCPServer{Transport: TransportStdio, Name: d.str("name"), Meta: d.meta()}
		if t, ok := d.optStr("type"); ok {
			s.Transport = Transport(t)
		}
		switch s.Transport {
		case TransportStdio:
			s.Command, s.Args, s.Env = d.str("command"), d.strs("args"), decodePairs(d, "env")
		case TransportHTTP, TransportSSE:
			s.URL, s.Headers = d.str("url"), decodePairs(d, "headers")
		default:
			d.fail(d.at("type"), "is not a known transport: "+quote(string(s.Transport)))
		}
		list = append(list, s)
	})
	return list
}

func decodePairs(d *decoder, key string) []NameValue {
	var list []NameValue
	d.objects(key, func(d *decoder) {
		list = append(list, NameValue{Name: d.str("name"), Value: d.str("value")})
	})
	return list
}

// SessionSetup are the parameters of session/new, session/load and
// session/resume.
type SessionSetup struct {
	// SessionID is empty for session/new.
	SessionID string
	// Cwd and AdditionalDirectories are absolute.
	Cwd                   string
	AdditionalDirectories []string
	MCPServers            []MCPServer
	Meta                  Meta
}

// DecodeNewSession reads the parameters of session/new.
func DecodeNewSession(params json.RawMessage) (SessionSetup, *Error) {
	return decodeSetup(decodeParams(params), "")
}

// DecodeLoadSession reads the parameters of session/load, resume and fork.
func DecodeLoadSession(params json.RawMessage) (SessionSetup, *Error) {
	d := decodeParams(params)
	return decodeSetup(d, d.str("sessionId"))
}

func decodeSetup(d *decoder, sessionID string) (SessionSetup, *Error) {
	r := SessionSetup{
		SessionID: sessionID, Cwd: d.absPath("cwd"),
		AdditionalDirectories: d.absPaths("additionalDirectories"),
		MCPServers:            decodeServers(d), Meta: d.meta(),
	}
	return r, d.fault()
}

// ListSessionsRequest are the parameters of session/list.
type ListSessionsRequest struct {
	// Cwd, if not empty, is the exact working directory asked for.
	Cwd string
	// Cursor is what an earlier answer gave, "" for the first page.
	Cursor string
	Meta   Meta
}

// DecodeListSessions reads the parameters of session/list.
func DecodeListSessions(params json.RawMessage) (ListSessionsRequest, *Error) {
	d := decodeParams(params)
	r := ListSessionsRequest{Meta: d.meta()}
	if d.raw("cwd") != nil {
		r.Cwd = d.absPath("cwd")
	}
	r.Cursor, _ = d.optStr("cursor")
	return r, d.fault()
}

// SessionRequest are the parameters of session/delete, session/close and
// session/cancel.
type SessionRequest struct {
	SessionID string
	Meta      Meta
}

// Session is the session that it is about.
func (r SessionRequest) Session() string { return r.SessionID }

// DecodeSession reads parameters that name a session and nothing else.
func DecodeSession(params json.RawMessage) (SessionRequest, *Error) {
	d := decodeParams(params)
	r := SessionRequest{SessionID: d.str("sessionId"), Meta: d.meta()}
	return r, d.fault()
}

// SetTitleRequest are the parameters of session/set_title.
type SetTitleRequest struct {
	SessionID, Title string
	Meta             Meta
}

// DecodeSetTitle reads the parameters of session/set_title.
func DecodeSetTitle(params json.RawMessage) (SetTitleRequest, *Error) {
	d := decodeParams(params)
	r := SetTitleRequest{SessionID: d.str("sessionId"), Title: d.str("title"), Meta: d.meta()}
	return r, d.fault()
}

// PromptRequest are the parameters of session/prompt.
type PromptRequest struct {
	SessionID string
	// Prompt may be empty: the protocol does not forbid it.
	Prompt []ContentBlock
	Meta   Meta
}

// Session is the session that it is about.
func (r PromptRequest) Session() string { return r.SessionID }

// DecodePrompt reads the parameters of session/prompt.
func DecodePrompt(params json.RawMessage) (PromptRequest, *Error) {
	d := decodeParams(params)
	r := PromptRequest{SessionID: d.str("sessionId"), Meta: d.meta()}
	if d.raw("prompt") == nil {
		d.missing("prompt")
	}
	d.objects("prompt", func(d *decoder) { r.Prompt = append(r.Prompt, decodeBlock(d)) })
	return r, d.fault()
}

// SetModeRequest are the parameters of session/set_mode.
type SetModeRequest struct {
	SessionID, ModeID string
	Meta              Meta
}

// Session is the session that it is about.
func (r SetModeRequest) Session() string { return r.SessionID }

// DecodeSetMode reads the parameters of session/set_mode.
func DecodeSetMode(params json.RawMessage) (SetModeRequest, *Error) {
	d := decodeParams(params)
	r := SetModeRequest{SessionID: d.str("sessionId"), ModeID: d.str("modeId"), Meta: d.meta()}
	return r, d.fault()
}

// SetConfigOptionRequest are the parameters of session/set_config_option.
type SetConfigOptionRequest struct {
	SessionID, ConfigID string
	// Value is the value chosen, when Bool is nil.
	Value string
	// Bool is the value of a boolean option.
	Bool *bool
	Meta Meta
}

// Session is the session that it is about.
func (r SetConfigOptionRequest) Session() string { return r.SessionID }

// DecodeSetConfigOption reads the parameters of session/set_config_option.
func DecodeSetConfigOption(params json.RawMessage) (SetConfigOptionRequest, *Error) {
	d := decodeParams(params)
	r := SetConfigOptionRequest{SessionID: d.str("sessionId"), ConfigID: d.str("configId"), Meta: d.meta()}
	if d.loose("type") == "boolean" {
		r.Bool = ptr(d.boolean("value"))
	} else {
		r.Value = d.str("value")
	}
	return r, d.fault()
}
