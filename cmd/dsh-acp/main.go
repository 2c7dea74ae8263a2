// Command dsh-acp is the tool system of the DeepSeek Harness as one program
// that an editor starts over stdio and speaks the Agent Client Protocol with.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	_ "github.com/dsh-acp/dsh-acp/internal/sandbox/launch" // a confined command's process is this one, started again; it never gets to main
)

// version is set by the linker; a plain go build or go run says what the module
// and the checkout say.
var version = ""

// env is what a subcommand may use of the process.
type env struct {
	stdin  *os.File
	stdout *os.File
	stderr io.Writer
}

// command is one subcommand.
type command struct {
	summary string
	usage   string
	run     func(ctx context.Context, e env, args []string) error
}

// commands by name; "" serves ACP.
func commands() map[string]command {
	return map[string]command{
		"":            {run: runServe},
		"demo":        {summary: "play the newcomer's tour: an editor, an agent, a guarded turn; no key, no network", usage: demoUsage, run: runDemo},
		"hooks":       {summary: "show the hooks of a folder, and allow those that it brings", usage: hooksUsage, run: runHooks},
		"run":         {summary: "run one Code Mode program from the shell, outside any model", usage: runUsage, run: runProgram},
		"replay":      {summary: "print a recorded session log as the ACP updates an editor would get", usage: replayUsage, run: runReplay},
		"login":       {summary: "store the key of a model provider", usage: loginUsage, run: runLogin},
		"check":       {summary: "say what is configured and whether it works", usage: checkUsage, run: runCheck},
		"conformance": {summary: "try a checklist of 85 items on any ACP agent", usage: conformanceUsage, run: runConformance},
		"tools":       {summary: "print the catalogue of tools as the model sees it", usage: toolsUsage, run: runTools},
		"mcp":         {summary: "show the MCP servers of a folder, and allow those that it brings", usage: mcpUsage, run: runMCP},
	}
}

func main() {
	worker.MaybeWorker() // a program's process is this one, started again
	proc.HideEnviron()
	proc.KeepDescriptors()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := dispatch(ctx, env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// dispatch runs a subcommand and returns the exit code: 0 done, 1 failed, 2 the
// command line is wrong.
func dispatch(ctx context.Context, e env, args []string) int {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name = args[0]
		args = args[1:]
	}
	cmd, ok := commands()[name]
	if !ok {
		if name == "help" {
			fmt.Fprint(e.stdout, help())
			return 0
		}
		fmt.Fprintf(e.stderr, "dsh-acp: unknown command %q; the commands are check, conformance, demo, hooks, login, mcp, replay, run and tools, and without one it serves ACP on stdin and stdout (dsh-acp --help)\n", name)
		return 2
	}
	err := cmd.run(ctx, e, args)
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errHelp):
		if cmd.usage != "" {
			fmt.Fprint(e.stdout, cmd.usage)
		} else {
			fmt.Fprint(e.stdout, help())
		}
		return 0
	case errors.Is(err, errVersion):
		fmt.Fprintln(e.stdout, "dsh-acp "+versionString())
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(e.stderr, "dsh-acp: %v\n", err)
		return 2
	default:
		fmt.Fprintf(e.stderr, "dsh-acp: %v\n", err)
		return 1
	}
}

// usageError is a wrong command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageError{msg: fmt.Sprintf(format, args...)} }

var (
	errHelp    = errors.New("help")
	errVersion = errors.New("version")
)

func versionString() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func help() string {
	return `dsh-acp - a coding agent for editors that speak the Agent Client Protocol

usage:
  dsh-acp [flags]                serve ACP on stdin and stdout (what an editor starts)
  dsh-acp demo [--yes]           ` + commands()["demo"].summary + `
  dsh-acp hooks [--allow] [DIR]  ` + commands()["hooks"].summary + `
  dsh-acp mcp [--allow] [DIR]    ` + commands()["mcp"].summary + `
  dsh-acp replay SESSION.jsonl   ` + commands()["replay"].summary + `
  dsh-acp run FILE.ts            ` + commands()["run"].summary + `
  dsh-acp tools [--json]         ` + commands()["tools"].summary + `
  dsh-acp login                  ` + commands()["login"].summary + `
  dsh-acp check                  ` + commands()["check"].summary + `
  dsh-acp conformance -- AGENT   ` + commands()["conformance"].summary + `

flags:
` + commonFlagsHelp + `
  --record DIR         record each session as a scenario that can be played again
  --version            print the version
  --help               print this text

"dsh-acp COMMAND --help" explains a command.
`
}
