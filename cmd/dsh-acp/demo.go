package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/dsh-acp/dsh-acp/internal/demo"
)

const demoUsage = `usage: dsh-acp demo [--yes] [--terminal=false]

Starts this program as an agent on a scratch workspace, connects to it as an
editor would, and plays one turn that a recorded model answers: it reads a file,
edits it, runs a command that you are asked about, and runs a program that calls
tools itself. Needs no key and no network.

  --yes              answer the permission question with yes
  --terminal=false   act as an editor that has no terminal cards
`

func runDemo(ctx context.Context, e env, args []string) error {
	f := newFlags("demo")
	yes := f.Bool("yes", false, "")
	terminal := f.Bool("terminal", true, "")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return demo.Run(ctx, demo.Options{
		Executable: exe, Yes: *yes, Terminal: *terminal,
		Color: term.IsTerminal(int(e.stdout.Fd())) && os.Getenv("NO_COLOR") == "",
		In:    e.stdin, Out: e.stdout, Stderr: e.stderr,
	})
}
