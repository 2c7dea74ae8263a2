// Package shell has the bash tool: one command line a call, in a fresh shell
// that cannot ask anybody anything, with bounded output and a hard end.
package shell

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
)

const (
	// DefaultTimeout ends a command that asks for no other limit.
	DefaultTimeout = 120 * time.Second
	// MaxTimeout is the most that a call can ask for; more is cut to it.
	MaxTimeout = 600 * time.Second
)

//go:embed bash.md
var description string

// Options configure the tool.
type Options struct {
	// Supervisor owns the commands. Mandatory.
	Supervisor *proc.Supervisor
	// DefaultTimeout is used when a call gives none. Zero means DefaultTimeout;
	// more than MaxTimeout is cut to it.
	DefaultTimeout time.Duration
	// SpillDir is where the whole of a long output is kept; it is made when the
	// first one needs it. "" means a private folder among the system's
	// temporary files, which Close removes.
	SpillDir string
	// SessionDir gives the folder for the long output of a session's commands,
	// which goes with the session; "" means SpillDir.
	SessionDir func(session string) string
	// Home is the program's own folder, DSH_HOME for commands. "" sets none.
	Home string
	// Environ gives the environment that commands inherit. nil means os.Environ.
	Environ func() []string
	// Confine, if set, chooses how the command of a call is confined. An error
	// fails the call: nothing runs without the confinement it should have.
	// nil, or a run without a wrapper, confines nothing.
	Confine func(*registry.Execution) (*sandbox.Run, error)
	// Conceal, if set, gives functions that change what is kept of long output,
	// see proc.RunOptions.
	Conceal func() func(piece []byte, last bool) []byte
	// Jobs keeps commands that run in the background. nil offers none.
	Jobs *jobs.Manager
	// Escalation lets the model ask for a wider mode for one call: a policy
	// reads the parameters that it adds.
	Escalation bool
}

// Shell is the tool with its configuration.
type Shell struct {
	opts     Options
	ownSpill bool
}

// New checks the options.
func New(opts Options) (*Shell, error) {
	if opts.Supervisor == nil {
		return nil, errors.New("the bash tool needs a process supervisor")
	}
	if opts.DefaultTimeout < 0 {
		return nil, errors.New("the bash tool's default timeout must be positive")
	}
	if opts.DefaultTimeout == 0 {
		opts.DefaultTimeout = DefaultTimeout
	}
	opts.DefaultTimeout = min(opts.DefaultTimeout, MaxTimeout)
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	s := &Shell{opts: opts}
	if opts.SpillDir == "" {
		s.ownSpill = true
		s.opts.SpillDir = filepath.Join(os.TempDir(), "dsh-acp-output-"+rand.Text())
	}
	return s, nil
}

// Register adds the tool to a scope.
func Register(scope *registry.Scope, opts Options) (*Shell, error) {
	s, err := New(opts)
	if err != nil {
		return nil, err
	}
	_, err = scope.Register(s.Definition())
	return s, err
}

// Close removes the folder of spilled output, unless the options named it. It
// does not end commands: the supervisor does.
func (s *Shell) Close() error {
	if s.ownSpill {
		return os.RemoveAll(s.opts.SpillDir)
	}
	return nil
}

// Definition is the bash tool.
func (s *Shell) Definition() registry.Definition {
	params := schema.Params{
		schema.Required("command", schema.String("The command line to run.")),
		schema.Required("description", schema.String("What the command does, in 5 to 10 words, for the user to read.")),
		schema.Optional("timeoutMs", schema.Number("Milliseconds after which the command is ended; at most 600000.")),
		schema.Optional("workdir", schema.String("The directory to run in; relative to the session's.")),
	}
	if s.opts.Jobs != nil {
		params = append(params, schema.Optional("run_in_background", schema.Boolean("Start the command and go on; task_output reads what it prints.")))
	}
	if s.opts.Escalation {
		params = append(params, tools.EscalationParams()...)
	}
	return registry.Definition{
		Name:        "bash",
		Description: s.description(),
		Parameters:  params,
		Output: registry.Output{
			Schema:           s.outputSchema(),
			Render:           render,
			PresentationMeta: presentationMeta,
		},
		Execute:       s.execute,
		PresentCall:   presentCall,
		PresentResult: presentResult,
	}
}

// outputSchema describes the value of a call.
func (s *Shell) outputSchema() jsonvalue.Value {
	stream := func(of string) schema.Spec {
		return schema.ClosedObject("What the command wrote to "+of+".",
			schema.Required("text", schema.String("The text; long output lacks its middle.")),
			schema.Required("truncated", schema.Boolean("Whether text is not everything.")),
			schema.Optional("spillPath", schema.String("A file with everything, when text is not.")),
		)
	}
	orNull := func(description string, s schema.Spec) schema.Spec {
		return schema.OneOf(description, s, schema.Null(""))
	}
	foreground := schema.ClosedObject("A command that has ended.",
		schema.Required("kind", schema.String("").WithConst("foreground")),
		schema.Required("exitCode", orNull("The exit status, null when a signal ended the command.", schema.Integer(""))),
		schema.Required("signal", orNull("The signal that ended the command, such as SIGTERM.", schema.String(""))),
		schema.Required("timedOut", schema.Boolean("Whether the time was over before the command ended.")),
		schema.Required("aborted", schema.Boolean("Whether the call was cancelled.")),
		schema.Required("timeoutMs", schema.Number("The time limit in milliseconds.")),
		schema.Required("stdout", stream("stdout")),
		schema.Required("stderr", stream("stderr")),
		sandboxSchema(),
	)
	if s.opts.Jobs != nil {
		foreground = schema.OneOf("", foreground, jobs.StartedSchema())
	}
	v, err := foreground.JSONSchema()
	if err != nil {
		panic("shell: the output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
