package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
)

// OptionKind is what choosing a permission option means.
type OptionKind string

// The kinds of permission options.
const (
	AllowOnce    OptionKind = "allow_once"
	AllowAlways  OptionKind = "allow_always"
	RejectOnce   OptionKind = "reject_once"
	RejectAlways OptionKind = "reject_always"
)

// PermissionOption is one answer the user can give.
type PermissionOption struct {
	OptionID string     `json:"optionId"`
	Name     string     `json:"name"`
	Kind     OptionKind `json:"kind"`
	Meta     Meta       `json:"_meta,omitempty"`
}

// NewPermissionOption makes an option.
func NewPermissionOption(id, name string, kind OptionKind) PermissionOption {
	return PermissionOption{OptionID: id, Name: name, Kind: kind}
}

// Validate says what keeps the option from being sent.
func (o PermissionOption) Validate() error {
	return errors.Join(needText("optionId", o.OptionID), needText("name", o.Name),
		oneOf("kind", o.Kind, AllowOnce, AllowAlways, RejectOnce, RejectAlways))
}

// RequestPermission are the parameters of session/request_permission.
type RequestPermission struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  ToolCallUpdate         `json:"toolCall"`
	Options   List[PermissionOption] `json:"options"`
	Meta      Meta                   `json:"_meta,omitempty"`
	// KindsRepeat lets options share a kind, for a client that said it tells
	// them apart by more than that.
	KindsRepeat bool `json:"-"`
}

// NewRequestPermission asks about a call. The call has to repeat everything the
// user should see: what editors show of it they take from here.
func NewRequestPermission(sessionID string, call ToolCallUpdate, options []PermissionOption) RequestPermission {
	return RequestPermission{SessionID: sessionID, ToolCall: call, Options: options}
}

// Validate says what keeps the request from being sent. Beyond the protocol's
// own rules it wants a title, since editors show nothing else of a call they do
// not know yet, and options of distinct kinds, since editors bind keys to kinds.
func (r RequestPermission) Validate() error {
	err := errors.Join(needText("sessionId", r.SessionID), needText("toolCall.title", r.ToolCall.Title),
		r.ToolCall.Validate(), each("options", r.Options))
	if len(r.Options) == 0 {
		err = errors.Join(err, invalid("options", "are missing"))
	}
	ids, kinds := map[string]bool{}, map[OptionKind]bool{}
	for _, o := range r.Options {
		if ids[o.OptionID] || kinds[o.Kind] && !r.KindsRepeat {
			err = errors.Join(err, invalid("options", "have an id or a kind twice: "+o.OptionID))
		}
		ids[o.OptionID], kinds[o.Kind] = true, true
	}
	return err
}

// ReadTextFile are the parameters of fs/read_text_file.
type ReadTextFile struct {
	SessionID string `json:"sessionId"`
	// Path is absolute.
	Path string `json:"path"`
	// Line, if not 0, is the first line wanted, counted from 1; Limit, if not 0,
	// is how many.
	Line  uint32 `json:"line,omitempty"`
	Limit uint32 `json:"limit,omitempty"`
	Meta  Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the request from being sent.
func (r ReadTextFile) Validate() error {
	return errors.Join(needText("sessionId", r.SessionID), needAbs("path", r.Path))
}

// WriteTextFile are the parameters of fs/write_text_file.
type WriteTextFile struct {
	SessionID string `json:"sessionId"`
	// Path is absolute.
	Path    string `json:"path"`
	Content string `json:"content"`
	Meta    Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the request from being sent.
func (r WriteTextFile) Validate() error {
	return errors.Join(needText("sessionId", r.SessionID), needAbs("path", r.Path))
}

// CreateTerminal are the parameters of terminal/create.
type CreateTerminal struct {
	SessionID string      `json:"sessionId"`
	Command   string      `json:"command"`
	Args      []string    `json:"args,omitempty"`
	Env       []NameValue `json:"env,omitempty"`
	// Cwd is absolute, or empty for the client's choice.
	Cwd string `json:"cwd,omitempty"`
	// OutputByteLimit, if not nil, is how much output the client keeps.
	OutputByteLimit *uint64 `json:"outputByteLimit,omitempty"`
	Meta            Meta    `json:"_meta,omitempty"`
}

// Validate says what keeps the request from being sent.
func (r CreateTerminal) Validate() error {
	err := errors.Join(needText("sessionId", r.SessionID), needText("command", r.Command))
	if r.Cwd != "" {
		err = errors.Join(err, needAbs("cwd", r.Cwd))
	}
	for i, e := range r.Env {
		err = errors.Join(err, needText(fmt.Sprintf("env[%d].name", i), e.Name))
	}
	return err
}

// TerminalRequest are the parameters of terminal/output, wait_for_exit, kill and
// release.
type TerminalRequest struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
	Meta       Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the request from being sent.
func (r TerminalRequest) Validate() error {
	return errors.Join(needText("sessionId", r.SessionID), needText("terminalId", r.TerminalID))
}

// answerFault says that the client answered a call of ours with something the
// protocol does not know. Its code is that of an internal error, so that it can
// be passed on as the answer to a request of the client's: that request was not
// at fault. The result is an [*Error], declared as an error because callers have
// one at hand, and a nil *Error in it would not be nil.
func answerFault(method string, d *decoder) error {
	if f := d.fault(); f != nil {
		e := InternalError("the client's answer to " + method + " cannot be used: " + f.Message)
		e.Data = f.Data
		return e
	}
	return nil
}

// PermissionOutcome is what the user answered.
type PermissionOutcome struct {
	// Cancelled says that the question was withdrawn or dismissed.
	Cancelled bool
	// OptionID is the option chosen, if not cancelled. It need not be one of
	// those offered: the caller has to check.
	OptionID string
}

// DecodePermissionOutcome reads the result of session/request_permission.
func DecodePermissionOutcome(result json.RawMessage) (PermissionOutcome, error) {
	d := decodeParams(result)
	var o PermissionOutcome
	out := d.need("outcome")
	switch kind := out.str("outcome"); kind {
	case "cancelled":
		o.Cancelled = true
	case "selected":
		o.OptionID = out.str("optionId")
	default:
		out.fail(out.at("outcome"), "is not a known outcome: "+quote(kind))
	}
	return o, answerFault(MethodRequestPermission, d)
}

// DecodeReadTextFile reads the result of fs/read_text_file: the text.
func DecodeReadTextFile(result json.RawMessage) (string, error) {
	d := decodeParams(result)
	text := d.str("content")
	return text, answerFault(MethodReadTextFile, d)
}

// DecodeCreateTerminal reads the result of terminal/create: the terminal's id.
func DecodeCreateTerminal(result json.RawMessage) (string, error) {
	d := decodeParams(result)
	id := d.str("terminalId")
	return id, answerFault(MethodTerminalCreate, d)
}

// ExitStatus is how a command in a terminal ended.
type ExitStatus struct {
	// ExitCode is nil when a signal ended the command, or when it is not known.
	ExitCode *uint32
	// Signal is the signal that ended the command, if any.
	Signal string
}

// TerminalOutput is what a terminal shows.
type TerminalOutput struct {
	Output    string
	Truncated bool
	// Exit is nil while the command runs.
	Exit *ExitStatus
}

// DecodeTerminalOutput reads the result of terminal/output.
func DecodeTerminalOutput(result json.RawMessage) (TerminalOutput, error) {
	d := decodeParams(result)
	o := TerminalOutput{Output: d.str("output"), Truncated: d.flag("truncated")}
	if exit := d.object("exitStatus"); exit != nil {
		s := decodeExit(exit)
		o.Exit = &s
	}
	return o, answerFault(MethodTerminalOutput, d)
}

// DecodeWaitForExit reads the result of terminal/wait_for_exit.
func DecodeWaitForExit(result json.RawMessage) (ExitStatus, error) {
	d := decodeParams(result)
	s := decodeExit(d)
	return s, answerFault(MethodTerminalWaitForExit, d)
}

func decodeExit(d *decoder) ExitStatus {
	var s ExitStatus
	if n, ok := d.integer("exitCode", -1<<31, 1<<32-1); ok {
		// A negative code of another system keeps its 32 bits.
		code := uint32(n)
		s.ExitCode = &code
	}
	s.Signal, _ = d.optStr("signal")
	return s
}
