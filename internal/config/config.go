// Package config reads the configuration: built-in defaults, the user's file,
// the workspace's restrictions, the file of --config and the flags, in that
// order, each strict about what it says. It decides nothing but which value
// holds; the packages that use the values know what they mean.
package config

import (
	"time"
)

// Config is one resolved configuration. Treat it as read-only: Load and
// ForWorkspace hand the same value to many sessions.
type Config struct {
	Model       Model
	Tools       Tools
	Permissions Permissions
	Sandbox     Sandbox
	CodeMode    CodeMode
	Agents      Agents
	Web         Web
	Hooks       Hooks
	MCPServers  []MCPServer // in the order of the files
	Plugins     []Plugin
	Sessions    Sessions
	Compaction  Compaction
	Record      Record
	Limits      Limits
	Log         Log

	// Warnings are keys that were read and have no effect, in file order.
	Warnings []Warning
	// Files are the configuration files that were read, in the order in which
	// they apply.
	Files []string
	// Origins maps a dotted key to where its value comes from ("file:line" or
	// "--flag"). A key that is absent has its built-in default.
	Origins map[string]string

	layers *layers
}

// Model says which model answers.
type Model struct {
	Provider  string // one of Providers
	Name      string // the provider's name of the model; "" lets the provider choose
	BaseURL   string // "" means the provider's own
	APIKeyEnv string // the environment variable that holds the key; "" when the provider needs none
	// APIKeyCommand prints the key; nil: none.
	APIKeyCommand []string
	// ContextWindow and MaxOutput are tokens of the model of that Name; 0 leaves
	// them to the server and to what is known.
	ContextWindow, MaxOutput int
	// Images says whether that model takes images: one of ImageChoices.
	Images string
	// Timeout is how long a server may think before an answer begins.
	Timeout time.Duration
	// Headers are sent with every request, after the program's own.
	Headers map[string]string
	// Prices are by the name of a model, in Currency.
	Prices   map[string]Price
	Currency string
	Replay   Replay
}

// Record says what recordings must not hold.
type Record struct {
	Redact []string // regular expressions
}

// Compaction says when a conversation is replaced by a summary.
type Compaction struct {
	Auto      string // one of Switches
	Threshold int    // percent of the context window that make it time, 1 to 100
}

// Replay is the script of the replay provider. Paths are absolute.
type Replay struct {
	Script   string   // the recorded session log
	Override string   // replaces the script of the primary session; may be ""
	Children []string // the logs of child sessions
	Models   []string // names offered as models
}

// Tools says how the model gets at the tools.
type Tools struct {
	Mode             string // one of ToolModes
	MaxParallelCalls int    // native calls of one step that may overlap; at least 1
	MaxInlineBytes   int64  // of a result that the model gets; 0: no bound
	// MaxBackgroundTasks is how many commands of a session may run in the
	// background at the same time; 0: none.
	MaxBackgroundTasks int
}

// Permissions is what may happen without asking.
type Permissions struct {
	Preset string // one of Presets
	// Remember is how long "allow always" lasts where there is one such answer;
	// one of Lifetimes.
	Remember string
	// Rules are the user's: the first that matches decides.
	Rules []Rule
	// Restrictions come from the workspace file. They hold beside Rules, and of
	// the two answers the stricter counts, so they never widen anything.
	Restrictions []Rule
}

// Rule decides about the calls it matches.
type Rule struct {
	Tool     string // the tool's name, or a pattern with * and ?
	Match    string // what the call does; "" means every call of the tool
	Decision string // one of Decisions
	Reason   string // shown with a question, and given to the model with a denial
	Origin   string // file:line
}

// CodeMode bounds one run_code program.
type CodeMode struct {
	Compute          time.Duration // busy time; waiting for tools is free
	Wall             time.Duration // total time; paused while a person is asked
	Memory           int64         // bytes
	MaxOutputBytes   int64         // bytes
	MaxParallelCalls int           // bindings in flight at once; at least 1
}

// Hooks are paths as written: relative ones belong to the session's working
// directory, and a file that is absent means no hooks.
type Hooks struct {
	ClaudeCode string
	Codex      string
}

// MCPServer is one MCP server of the configuration.
type MCPServer struct {
	Name    string
	Type    string // stdio, http or sse
	Command string // stdio; absolute, or a bare name looked up in PATH
	Args    []string
	Env     map[string]string
	Cwd     string // stdio; absolute, "" for the session's
	URL     string // http and sse
	Headers map[string]string
	// StartTimeout and CallTimeout bound a start, and a call without a sign of
	// life; 0 means the default of the package mcp.
	StartTimeout time.Duration
	CallTimeout  time.Duration
	Disabled     bool
	Origin       string // file:line
}

// Plugin is one plugin of the configuration.
type Plugin struct {
	Name    string
	Command string // absolute, or a bare name looked up in PATH
	Args    []string
	Env     map[string]string
	Origin  string // file:line
}

// Sessions says where session logs are kept.
type Sessions struct {
	Dir string // absolute
}

// Limits bounds what a client or a model can make the agent do.
type Limits struct {
	MaxLineBytes int64         // longest line of a client, in bytes
	MaxSteps     int           // model requests of one turn
	BashTimeout  time.Duration // of a command that names none; at most 600 s
	// MaxAttempts is how often a model request is made that fails in a way that
	// may heal, the first time included; MaxRetryWait the longest wait that a
	// server may ask for in between.
	MaxAttempts  int
	MaxRetryWait time.Duration
	MCPWait      time.Duration // of the first prompt, for MCP servers that are starting
	// QuestionTimeout is how long a question to the person, other than one for
	// permission, waits for its answer.
	QuestionTimeout time.Duration
}

// Log says where diagnostics go.
type Log struct {
	File  string // absolute; "" means standard error
	Level string // one of LogLevels
}

// The values that a key with a fixed vocabulary takes.
var (
	Providers = []string{"deepseek", "openai", "anthropic", "replay", "local"}
	ToolModes = []string{"native", "code", "both"}
	Presets   = []string{"read-only", "workspace-write", "danger-full-access"} // from strict to free
	Lifetimes = []string{"session", "project"}
	Decisions = []string{"allow", "ask", "deny"}
	// Switches turn something on and off.
	Switches = []string{"on", "off"}
	// ImageChoices leave it to what is known of a model whether it takes images,
	// or say so.
	ImageChoices = []string{"auto", "yes", "no"}
	LogLevels    = []string{"debug", "info", "warn", "error"}
)

// defaults is the configuration of somebody who wrote none. Paths that depend
// on the environment are filled in by Load.
func defaults() Config {
	return Config{
		Model:       Model{Provider: "deepseek", Images: "auto", Timeout: 5 * time.Minute, Currency: "USD"},
		Compaction:  Compaction{Auto: "on", Threshold: 80},
		Tools:       Tools{Mode: "native", MaxParallelCalls: 10, MaxInlineBytes: 50000, MaxBackgroundTasks: 16},
		Permissions: Permissions{Preset: "workspace-write", Remember: "session"},
		Sandbox:     Sandbox{Mechanism: "auto", Network: "off", UnixSockets: "off"},
		CodeMode: CodeMode{
			Compute: 60 * time.Second, Wall: 600 * time.Second,
			Memory: 512 << 20, MaxOutputBytes: 64 << 20, MaxParallelCalls: 1,
		},
		Agents: defaultAgents(),
		Limits: Limits{MaxLineBytes: 64 << 20, MaxSteps: 100, BashTimeout: 120 * time.Second, MaxAttempts: 4, MaxRetryWait: 2 * time.Minute, MCPWait: 10 * time.Second, QuestionTimeout: time.Hour},
		Log:    Log{Level: "info"},
	}
}

// providerDefaults fills what follows from the provider when nobody set it.
func providerDefaults(m *Model) {
	name, key := "", ""
	switch m.Provider {
	case "deepseek":
		name, key = "deepseek-chat", "DEEPSEEK_API_KEY"
	case "openai":
		key = "OPENAI_API_KEY"
	case "anthropic":
		key = "ANTHROPIC_API_KEY"
	case "local":
		name = "local"
	}
	if m.Name == "" {
		m.Name = name
	}
	if m.APIKeyEnv == "" {
		m.APIKeyEnv = key
	}
}
