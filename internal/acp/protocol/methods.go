package protocol

// Version is the protocol version this agent speaks, whatever the client asks
// for.
const Version = 1

// The methods of ACP v1 that the client calls.
const (
	MethodInitialize      = "initialize"
	MethodAuthenticate    = "authenticate"
	MethodLogout          = "logout"
	MethodSessionNew      = "session/new"
	MethodSessionLoad     = "session/load"
	MethodSessionResume   = "session/resume"
	MethodSessionList     = "session/list"
	MethodSessionDelete   = "session/delete"
	MethodSessionClose    = "session/close"
	MethodSessionPrompt   = "session/prompt"
	MethodSessionCancel   = "session/cancel" // a notification
	MethodSessionSetMode  = "session/set_mode"
	MethodSetConfigOption = "session/set_config_option"
)

// The methods of the unstable part of ACP v1 that are served. They are advertised.
const (
	MethodSessionFork     = "session/fork"
	MethodSessionSetTitle = "session/set_title"
)

// The methods of ACP v1 that the agent calls.
const (
	MethodSessionUpdate       = "session/update" // a notification
	MethodRequestPermission   = "session/request_permission"
	MethodReadTextFile        = "fs/read_text_file"
	MethodWriteTextFile       = "fs/write_text_file"
	MethodTerminalCreate      = "terminal/create"
	MethodTerminalOutput      = "terminal/output"
	MethodTerminalWaitForExit = "terminal/wait_for_exit"
	MethodTerminalKill        = "terminal/kill"
	MethodTerminalRelease     = "terminal/release"
	MethodElicitationCreate   = "elicitation/create"
	MethodElicitationComplete = "elicitation/complete" // a notification
)

// MethodCancelRequest is the notification by which either side withdraws a
// request of its own.
const MethodCancelRequest = "$/cancel_request"
