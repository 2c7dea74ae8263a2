package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/codemode"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/termui"
)

const runUsage = `usage: dsh-acp run FILE.ts [--json] [--allow TOOL]... [flags]

Runs one Code Mode program against the tools, in the current directory, the way a
model's program runs: same limits, same permissions, same cards. FILE may be "-"
for standard input. Exits with 0 when the program completes, else with 1.

  --json         print one JSON object and no cards:
                 {"ok", "value"?, "logs", "error"?: {"kind", "message", "line"?, "column"?}}
  --allow TOOL   allow what would be asked about this tool; * and ? match any
                 characters, and the flag may be given more than once
`

// runProgram runs a program from the shell.
func runProgram(ctx context.Context, e env, args []string) error {
	f := newFlags("run")
	asJSON := f.Bool("json", false, "")
	var allow []string
	f.Func("allow", "", func(pattern string) error {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
		allow = append(allow, pattern)
		return nil
	})
	file, err := parseFile(f, args)
	if err != nil {
		return err
	}
	program, err := readProgram(e, file)
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return err
	}
	if cfg, err = cfg.ForWorkspace(cwd); err != nil {
		return err
	}
	logger, closeLog, err := newLogger(cfg, e.stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	app, err := newApp(cfg, logger)
	if err != nil {
		return err
	}
	defer app.close()
	sh := &shellRun{
		app: app, cwd: cwd, id: session.NewID(), allow: allow,
		title: "Run " + filepath.Base(file), program: string(program),
		screen: &termui.Screen{
			Out: e.stdout, Cwd: cwd, Color: term.IsTerminal(int(e.stdout.Fd())) && os.Getenv("NO_COLOR") == "",
		},
	}
	if *asJSON {
		sh.screen = nil
	}
	if file != "-" && term.IsTerminal(int(e.stdin.Fd())) {
		sh.ask = &termui.Screen{Out: e.stderr, Cwd: cwd}
		sh.answers = bufio.NewReader(e.stdin)
	}
	r, out, err := sh.run(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		if err := writeOutcome(e.stdout, r, out); err != nil {
			return err
		}
	}
	for _, tool := range sh.refused {
		fmt.Fprintf(e.stderr, "dsh-acp: a call of %s needs permission, and there was nobody to ask: --allow %s allows it\n", tool, tool)
	}
	if r.IsError() {
		return errors.New(failureLine(r, out))
	}
	return nil
}

// parseFile parses flags before and after the one file.
func parseFile(f *flagSet, args []string) (string, error) {
	var files []string
	for {
		if err := f.parse(args, len(args)); err != nil {
			return "", err
		}
		if f.NArg() == 0 {
			break
		}
		files = append(files, f.Arg(0))
		args = f.Args()[1:]
	}
	if len(files) != 1 {
		return "", usagef("run needs one file with a program: dsh-acp run FILE.ts (\"-\" reads standard input)")
	}
	return files[0], nil
}

// maxProgramFile is far above what compiles; the compiler's own limit gives the
// better message.
const maxProgramFile = 4 << 20

func readProgram(e env, file string) ([]byte, error) {
	in := e.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	program, err := io.ReadAll(io.LimitReader(in, maxProgramFile))
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(program) {
		return nil, fmt.Errorf("%s is not UTF-8 text: save the program as UTF-8", file)
	}
	return program, nil
}

// shellRun is the agent of one program: it makes the call, shows its events as an
// editor would show those of a session, and answers questions.
type shellRun struct {
	app            *app
	cwd, id        string
	title, program string
	allow          []string
	screen         *termui.Screen // nil shows nothing
	ask            *termui.Screen // where questions are put; nil means nobody is there
	answers        *bufio.Reader

	scope  *registry.Scope
	policy sessionPolicy

	mu      sync.Mutex // of what follows
	proj    *cards.Projector
	refused []string // tools whose questions nobody could be asked
}

var (
	_ registry.Agent    = (*shellRun)(nil)
	_ pipeline.Approver = (*shellRun)(nil)
)

// AgentID is an id of the run's own.
func (s *shellRun) AgentID() string { return s.id }

// Scope is where the run sees tools.
func (s *shellRun) Scope() *registry.Scope { return s.scope }

// Cwd is the directory that the program was started in.
func (s *shellRun) Cwd() string { return s.cwd }

// SessionID is the agent's id, for tools that keep state by session.
func (s *shellRun) SessionID() string { return s.id }

const shellCallID = "run"

// run runs the program. The error is about the setting, not about the program.
func (s *shellRun) run(ctx context.Context) (*registry.Result, runner.Outcome, error) {
	var out runner.Outcome
	s.scope = s.app.registry.Global().Child(s.id)
	defer s.scope.Close()
	if s.scope.Mode() == registry.ModeNative {
		if _, err := s.scope.PresentAs(registry.ModeBoth); err != nil {
			return nil, out, err
		}
	}
	servers := s.app.commandMCP(s.app.cfg, s.id, s.cwd, s.scope)
	defer servers.Close()
	var err error
	if s.policy, err = installPolicy(s.app.cfg, s.app.pipeline, s.scope, describeRemote(servers), nil, s.app.vain); err != nil {
		return nil, out, err
	}
	s.app.confineSession(s.app.cfg, s.id, s.scope, s.policy, s.cwd, nil)
	defer s.app.boxes.sessions.Delete(s.id)
	s.proj = cards.NewProjector(agent.ScopePresenters{Scope: s.scope}, cards.Options{
		Cwd: s.cwd, TerminalOutput: true, NestedCalls: true, Logger: s.app.logger,
	})
	servers.AwaitReady(ctx)
	args := session.Data("code", s.program, "description", s.title)
	s.show(session.TypeToolCall, session.Data("callId", shellCallID, "name", registry.RunCode, "arguments", args.String()))
	r := s.app.pipeline.Execute(codemode.WithReport(ctx, &out), pipeline.Call{
		ID: shellCallID, Name: registry.RunCode, Arguments: args, Agent: s,
		OnRunning: func(*registry.Execution) { s.show(agent.TypeToolStart, session.Data("callId", shellCallID)) },
		Emit: func(eventType string, data jsonvalue.Value) error {
			s.show(eventType, data)
			return nil
		},
	})
	s.show(session.TypeToolResult, session.Data("callId", shellCallID, "content", content.ToValue(r.Content()), "isError", r.IsError()))
	return r, out, nil
}

// show draws what an event shows.
func (s *shellRun) show(eventType string, data jsonvalue.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	updates := s.proj.Project(cards.Event{Type: eventType, Time: time.Now(), Data: data})
	if s.screen == nil {
		return
	}
	for _, u := range updates {
		if raw, ok := acp.EncodeUpdate(u); ok {
			var drawn termui.Update
			if json.Unmarshal(raw, &drawn) == nil {
				s.screen.Update(drawn)
			}
		}
	}
}

// RequestApproval answers a question: by --allow, by the person at the terminal,
// else with no.
func (s *shellRun) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	name := req.Execution.Name()
	if s.policy.NeverAsks() {
		return pipeline.Rejected, nil
	}
	for _, pattern := range s.allow {
		if ok, _ := path.Match(pattern, name); ok {
			return pipeline.AllowedOnce, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ask == nil {
		s.refused = append(s.refused, name)
		return pipeline.Unavailable, nil
	}
	title := name
	if call, ok := s.proj.Announced(req.Execution.CallID()); ok {
		title = call.Title
	}
	s.ask.Question(title, []string{"Allow once", "Reject"})
	for line := range strings.Lines(req.Reason) {
		s.ask.Note(strings.TrimRight(line, "\n"))
	}
	yes, err := s.readYes(ctx)
	if err != nil {
		return pipeline.Cancelled, nil
	}
	if yes {
		return pipeline.AllowedOnce, nil
	}
	return pipeline.Rejected, nil
}

// readYes reads y or n. The end of the input is a no.
func (s *shellRun) readYes(ctx context.Context) (bool, error) {
	type reply struct{ yes bool }
	replies := make(chan reply, 1)
	go func() { // ends with the answer, or with the process
		for {
			s.ask.Ask()
			line, err := s.answers.ReadString('\n')
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "y", "yes":
				replies <- reply{true}
				return
			case "n", "no":
				replies <- reply{false}
				return
			}
			if err != nil {
				replies <- reply{false}
				return
			}
		}
	}()
	select {
	case r := <-replies:
		return r.yes, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// writeOutcome prints what --json promises, {ok, value?, logs, error?}, on one
// line. The value may be nested deeper than encoding/json goes.
func writeOutcome(w io.Writer, r *registry.Result, out runner.Outcome) error {
	o := jsonvalue.Object(jsonvalue.Member{Key: "ok", Value: jsonvalue.Bool(!r.IsError())})
	logs := jsonvalue.Array()
	for _, entry := range out.Logs {
		logs = logs.Append(jsonvalue.String(entry))
	}
	var failure jsonvalue.Value
	switch f := out.Failure; {
	case !r.IsError():
		if v := r.Value().Get("result"); !v.IsUndefined() {
			o = o.With("value", v.WellFormed())
		}
		logs = r.Value().Get("logs").WellFormed() // with what was added
	case f != nil:
		failure = session.Data("kind", string(f.Kind), "message", f.Message)
		if f.Line > 0 {
			failure = failure.With("line", jsonvalue.Int(int64(f.Line))).With("column", jsonvalue.Int(int64(f.Column)))
		}
	default: // it never ran, or its result was refused
		failure = session.Data("kind", "refused", "message", r.ErrorInfo().Message)
	}
	o = o.With("logs", logs)
	if !failure.IsUndefined() {
		o = o.With("error", failure)
	}
	_, err := w.Write(append(o.AppendJSON(nil), '\n'))
	return err
}

// failureLine is the failure on one line, for standard error.
func failureLine(r *registry.Result, out runner.Outcome) string {
	if f := out.Failure; f != nil {
		first, _, _ := strings.Cut(f.Message, "\n")
		if f.Line > 0 {
			first = fmt.Sprintf("line %d: %s", f.Line, first)
		}
		return "the program failed (" + string(f.Kind) + "): " + first
	}
	first, _, _ := strings.Cut(r.ErrorInfo().Message, "\n")
	return "the program was not run: " + first
}
