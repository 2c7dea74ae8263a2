package main

import (
	"context"
	"fmt"

	"golang.org/x/term"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/config"
)

// agentName is how the program introduces itself to clients.
const agentName = "dsh-acp"

const terminalHint = `dsh-acp ` + "%s" + ` is an agent that an editor starts; it speaks the Agent Client Protocol
on stdin and stdout. To use it, name this program in your editor's agent settings
(docs/editors.md has the snippets). To watch it work right here: dsh-acp demo
Now waiting for protocol messages on stdin; end with Ctrl-D.
`

// runServe serves ACP: the main job.
func runServe(ctx context.Context, e env, args []string) error {
	f := newFlags("dsh-acp")
	record := f.String("record", "", "")
	if err := f.parse(args, len(args)); err != nil {
		return err
	}
	if f.NArg() > 0 {
		// An editor appends the login's argument to those it starts the agent with.
		if f.NArg() == 1 && f.Arg(0) == "login" {
			return login(ctx, e, f.options, false)
		}
		if _, ok := commands()[f.Arg(0)]; ok {
			return usagef("the command comes first and its flags behind it: dsh-acp %s [flags]", f.Arg(0))
		}
		return f.parse(args, 0)
	}
	// From here on stdout belongs to frames alone.
	frames, err := wire.TakeStdout()
	if err != nil {
		return fmt.Errorf("stdout cannot be taken for protocol messages: %w", err)
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return err
	}
	if term.IsTerminal(int(e.stdin.Fd())) {
		fmt.Fprintf(e.stderr, terminalHint, versionString())
	}
	logger, closeLog, err := newLogger(cfg, e.stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	for _, w := range cfg.Warnings {
		logger.Warn(w.String())
	}
	app, err := newApp(cfg, logger)
	if err != nil {
		return err
	}
	defer app.close()
	in, out, endRecording, err := app.record(ctx, *record, e.stdin, frames)
	if err != nil {
		return err
	}
	defer endRecording()
	srv := acp.NewServer(acp.Options{
		Name: agentName, Version: versionString(), Backend: app, Logger: logger,
		QuestionTimeout: cfg.Limits.QuestionTimeout,
		Wire:            wire.Options{MaxLine: int(cfg.Limits.MaxLineBytes)},
	})
	return srv.Serve(ctx, in, out)
}
