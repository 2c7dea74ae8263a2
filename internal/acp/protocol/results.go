package protocol

import (
	"errors"
	"fmt"
)

// Marker is a capability without properties: present means yes.
type Marker struct {
	Meta Meta `json:"_meta,omitempty"`
}

// Yes marks a capability as present.
func Yes() *Marker { return &Marker{} }

// Empty is the result of a method that has nothing to tell.
type Empty struct {
	Meta Meta `json:"_meta,omitempty"`
}

// PromptCapabilities say which content blocks a prompt may hold besides text
// and resource links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
	Meta            Meta `json:"_meta,omitempty"`
}

// MCPCapabilities say which MCP transports are served besides stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
	Meta Meta `json:"_meta,omitempty"`
}

// SessionCapabilities say which optional session methods are served.
type SessionCapabilities struct {
	List                  *Marker `json:"list,omitempty"`
	Delete                *Marker `json:"delete,omitempty"`
	AdditionalDirectories *Marker `json:"additionalDirectories,omitempty"`
	Resume                *Marker `json:"resume,omitempty"`
	Close                 *Marker `json:"close,omitempty"`
	Fork                  *Marker `json:"fork,omitempty"`  // unstable
	Title                 *Marker `json:"title,omitempty"` // unstable
	Meta                  Meta    `json:"_meta,omitempty"`
}

// AuthCapabilities say what the agent can do about authentication.
type AuthCapabilities struct {
	Logout *Marker `json:"logout,omitempty"`
	Meta   Meta    `json:"_meta,omitempty"`
}

// AgentCapabilities say what the agent can do.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Auth                AuthCapabilities    `json:"auth"`
	Meta                Meta                `json:"_meta,omitempty"`
}

// AuthMethod is a way to authenticate: by the authenticate method, or, when
// Type is "terminal", by the client running the agent's command once more with
// Args and Env in a terminal. Make one with [AgentAuth] or [TerminalAuth].
type AuthMethod struct {
	Type        string            `json:"type,omitempty"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Meta        Meta              `json:"_meta,omitempty"`
}

// AgentAuth makes a method that the agent carries out by itself.
func AgentAuth(id, name, description string) AuthMethod {
	return AuthMethod{ID: id, Name: name, Description: description}
}

// TerminalAuth makes a method that runs in a terminal. It may be offered only to
// a client that can.
func TerminalAuth(id, name, description string, args []string, env map[string]string) AuthMethod {
	return AuthMethod{Type: "terminal", ID: id, Name: name, Description: description, Args: args, Env: env}
}

// Validate says what keeps the method from being sent.
func (m AuthMethod) Validate() error {
	err := errors.Join(needText("id", m.ID), needText("name", m.Name))
	switch m.Type {
	case "terminal":
	case "":
		if m.Args != nil || m.Env != nil {
			err = errors.Join(err, invalid("args and env", "belong to terminal methods only"))
		}
	default:
		err = errors.Join(err, invalid("type", "is unknown: "+m.Type))
	}
	return err
}

// InitializeResponse is the result of initialize.
type InitializeResponse struct {
	ProtocolVersion   uint16            `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AuthMethods       List[AuthMethod]  `json:"authMethods"`
	AgentInfo         *Implementation   `json:"agentInfo,omitempty"`
	Meta              Meta              `json:"_meta,omitempty"`
}

// NewInitializeResponse answers initialize with the version this agent speaks.
func NewInitializeResponse(info Implementation, caps AgentCapabilities, auth []AuthMethod) InitializeResponse {
	return InitializeResponse{ProtocolVersion: Version, AgentCapabilities: caps, AuthMethods: auth, AgentInfo: &info}
}

// Validate says what keeps the result from being sent.
func (r InitializeResponse) Validate() error {
	err := each("authMethods", r.AuthMethods)
	if r.AgentInfo != nil {
		err = errors.Join(err, needText("agentInfo.name", r.AgentInfo.Name), needText("agentInfo.version", r.AgentInfo.Version))
	}
	return err
}

// SessionState is the result of session/load and session/resume, and the part
// of session/new beside the id.
type SessionState struct {
	Modes         *Modes         `json:"modes,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions,omitzero"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// Validate says what keeps the result from being sent.
func (r SessionState) Validate() error {
	return errors.Join(r.Modes.Validate(), each("configOptions", r.ConfigOptions))
}

// NewSessionResponse is the result of session/new.
type NewSessionResponse struct {
	SessionID string `json:"sessionId"`
	SessionState
}

// NewNewSessionResponse answers session/new; modes and options may be added.
func NewNewSessionResponse(sessionID string) NewSessionResponse {
	return NewSessionResponse{SessionID: sessionID}
}

// Validate says what keeps the result from being sent.
func (r NewSessionResponse) Validate() error {
	return errors.Join(needText("sessionId", r.SessionID), r.SessionState.Validate())
}

// SessionInfo is one session of a listing.
type SessionInfo struct {
	SessionID string `json:"sessionId"`
	// Cwd and AdditionalDirectories are absolute.
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Title                 string   `json:"title,omitempty"`
	// UpdatedAt is a [Timestamp].
	UpdatedAt string `json:"updatedAt,omitempty"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the entry from being sent.
func (i SessionInfo) Validate() error {
	err := errors.Join(needText("sessionId", i.SessionID), needAbs("cwd", i.Cwd))
	for n, dir := range i.AdditionalDirectories {
		err = errors.Join(err, needAbs(fmt.Sprintf("additionalDirectories[%d]", n), dir))
	}
	return err
}

// ListSessionsResponse is the result of session/list.
type ListSessionsResponse struct {
	Sessions List[SessionInfo] `json:"sessions"`
	// NextCursor is empty on the last page.
	NextCursor string `json:"nextCursor,omitempty"`
	Meta       Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the result from being sent.
func (r ListSessionsResponse) Validate() error { return each("sessions", r.Sessions) }

// SetTitleResponse is the result of session/set_title: the title as it is stored.
type SetTitleResponse struct {
	Title string `json:"title"`
	Meta  Meta   `json:"_meta,omitempty"`
}

// Validate finds nothing wrong.
func (r SetTitleResponse) Validate() error { return nil }

// SetConfigOptionResponse is the result of session/set_config_option: all options.
type SetConfigOptionResponse struct {
	ConfigOptions List[ConfigOption] `json:"configOptions"`
	Meta          Meta               `json:"_meta,omitempty"`
}

// Validate says what keeps the result from being sent.
func (r SetConfigOptionResponse) Validate() error { return each("configOptions", r.ConfigOptions) }

// StopReason is why a turn ended.
type StopReason string

// The reasons a turn ends for. A turn that failed is an error instead.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// PromptResponse is the result of session/prompt.
type PromptResponse struct {
	StopReason StopReason `json:"stopReason"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// NewPromptResponse answers session/prompt.
func NewPromptResponse(reason StopReason) PromptResponse { return PromptResponse{StopReason: reason} }

// Validate says what keeps the result from being sent.
func (r PromptResponse) Validate() error {
	return oneOf("stopReason", r.StopReason, StopEndTurn, StopMaxTokens, StopMaxTurnRequests, StopRefusal, StopCancelled)
}
