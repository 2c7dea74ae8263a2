// Package demo is the newcomer's tour: it starts the agent as a child on a
// scratch workspace, connects as an ACP client, plays one prompt that a
// recorded model answers, and draws in the terminal what an editor would show.
package demo

import (
	"context"
	_ "embed" // the recorded model
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/termui"
)

//go:embed model.jsonl
var recordedModel []byte

// prompt is what the tour asks; the recorded model answers exactly this.
const prompt = "Switch settings.ini from debug to release mode, then check that it took."

const (
	workFile    = "settings.ini"
	workContent = "# service settings\nmode = debug\nlevel = info\nworkers = 4\n"
)

// Options of a tour.
type Options struct {
	Executable string // the agent; started with --config FILE
	Yes        bool   // answer the permission question with yes
	Terminal   bool   // act as an editor that draws terminals itself
	Color      bool
	In         io.Reader // where y/n is read from
	Out        io.Writer
	Stderr     io.Writer // the agent's log
}

// Run plays the tour. It returns an error when anything does not go as the tour
// says it does.
func Run(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "dsh-acp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "workspace")
	cfg, err := prepare(dir, work)
	if err != nil {
		return err
	}
	scr := &termui.Screen{Out: o.Out, Color: o.Color, Cwd: work}
	scr.Heading("dsh-acp demo: an editor and an agent, no key and no network")
	scr.Note("workspace: " + work)
	if err := scr.File("before", filepath.Join(work, workFile)); err != nil {
		return err
	}

	procs := proc.NewSupervisor()
	child, err := procs.Start(proc.Command{Spec: proc.Spec{
		Args: []string{o.Executable, "--config", cfg}, Env: os.Environ(), Dir: work,
	}}, proc.StartOptions{OnStderr: func(chunk []byte) { _, _ = o.Stderr.Write(chunk) }})
	if err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}
	c := &client{screen: scr, opt: o}
	conn := wire.Serve(ctx, child.Stdout, child.Stdin, c, wire.Options{})
	turnErr := c.tour(ctx, conn, work)
	// The end of its input tells the agent to leave.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	exit := child.Stop(stopCtx)
	_ = conn.Close()
	_ = procs.Close(stopCtx)
	if turnErr != nil {
		return turnErr
	}
	if exit.Code != 0 {
		return fmt.Errorf("the agent did not leave cleanly: %s", exit)
	}
	if err := scr.File("after", filepath.Join(work, workFile)); err != nil {
		return err
	}
	return c.verdict(work)
}

// prepare writes the workspace, the recorded model and the configuration.
func prepare(dir, work string) (cfg string, err error) {
	if err := os.Mkdir(work, 0o755); err != nil {
		return "", err
	}
	script := filepath.Join(dir, "model.jsonl")
	cfg = filepath.Join(dir, "config.yaml")
	files := map[string][]byte{
		filepath.Join(work, workFile): []byte(workContent),
		script:                        recordedModel,
		cfg:                           []byte(config(script, filepath.Join(dir, "sessions"))),
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return "", err
		}
	}
	return cfg, nil
}

// config selects the recorded model, lets it write programs, and shows the
// permission rules at work: edits are allowed beforehand, commands ask.
func config(script, sessions string) string {
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	return "model:\n  provider: replay\n  name: recorded\n  replay:\n    script: " + quote(script) + "\n    models: [recorded]\n" +
		"tools:\n  mode: both\n" +
		"permissions:\n  preset: workspace-write\n  rules:\n    - {tool: edit, decision: allow, reason: the tour edits its own workspace}\n" +
		"    - {tool: bash, decision: ask, reason: the tour shows a question}\n" +
		"sessions:\n  dir: " + quote(sessions) + "\n"
}

// verdict checks that the tour did what it showed.
func (c *client) verdict(work string) error {
	data, err := os.ReadFile(filepath.Join(work, workFile))
	if err != nil {
		return err
	}
	changed := string(data) == "# service settings\nmode = release\nlevel = info\nworkers = 4\n"
	switch {
	case !changed:
		return errors.New("the demo's edit is not on disk")
	case c.asked == 0:
		return errors.New("the agent ran the command without asking")
	case c.stopReason != "end_turn":
		return fmt.Errorf("the turn ended with %q", c.stopReason)
	}
	c.screen.Heading("that was a whole turn: every line above came over ACP from the same program your editor starts")
	c.screen.Note("next: docs/editors.md has the snippet for your editor; `dsh-acp --model local` needs no key either")
	return nil
}
