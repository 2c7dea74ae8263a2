package main

import (
	"bufio"
	"context"
	"log/slog"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

const replayUsage = `usage: dsh-acp replay [--terminal] [--nested=false] SESSION.jsonl

Prints a recorded session log as the session/update messages an editor would get
when it loads the session, one JSON object a line. A call that the log leaves
open is shown as it would be after the repair that loading does.

  --terminal      as an editor that draws terminals itself
  --nested=false  as an editor that does not link the calls of a program to it
`

func runReplay(_ context.Context, e env, args []string) error {
	f := newFlags("replay")
	terminal := f.Bool("terminal", false, "")
	nested := f.Bool("nested", true, "")
	if err := f.parse(args, 1); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("replay needs the file of a session log: dsh-acp replay SESSION.jsonl")
	}
	rec, err := session.ReadFile(f.Arg(0))
	if err != nil {
		return err
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(e.stderr, nil))
	app, err := newApp(cfg, logger)
	if err != nil {
		return err
	}
	defer app.close()
	if rec.Torn != nil {
		logger.Warn("the last line was cut short and is left out", "line", rec.Torn.Line, "reason", rec.Torn.Reason)
	}
	w := bufio.NewWriter(e.stdout)
	opt := cards.Options{Cwd: rec.Header.Cwd, TerminalOutput: *terminal, NestedCalls: *nested, UserMessages: true, BlockedPrompts: true, Logger: logger}
	if err := acp.WriteReplay(w, rec, agent.ScopePresenters{Scope: app.registry.Global()}, opt); err != nil {
		return err
	}
	return w.Flush()
}
