package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/jobs"
)

// MaxBackgroundTimeout is the most that a call can give a command in the
// background. Without timeoutMs such a command has no limit but the session's
// end.
const MaxBackgroundTimeout = 24 * time.Hour

//go:embed background.md
var backgroundDescription string

// description is what the model reads of the tool.
func (s *Shell) description() string {
	text := strings.TrimSpace(description)
	if s.opts.Jobs != nil {
		text += "\n\n" + strings.TrimSpace(backgroundDescription)
	}
	return text
}

// background starts the command as a job of the session and returns its handle.
func (s *Shell) background(ctx context.Context, run registry.Run, req request, cmd proc.Command) (jsonvalue.Value, error) {
	if s.opts.Jobs == nil {
		return jsonvalue.Value{}, jobs.ErrNoManager
	}
	if ctx.Err() != nil {
		return jsonvalue.Value{}, errAborted
	}
	id, err := s.opts.Jobs.Start(ctx, run.Execution(), jobs.Spec{
		Kind: "bash", Label: req.command, Description: req.description, Cwd: cmd.Dir,
		Run: func(ctx context.Context, started func(), output func([]byte)) (jobs.End, error) {
			o := proc.RunOptions{
				Limit: jobTail, OnStart: started,
				OnOutput: func(_ proc.Stream, chunk []byte) { output(chunk) },
			}
			if req.limited {
				o.Timeout = req.timeout
			}
			out, err := s.opts.Supervisor.Run(ctx, cmd, o)
			if err != nil {
				return jobs.End{}, err
			}
			return endOf(out, req.timeout), nil
		},
	})
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return jobs.Started(id), nil
}

// jobTail is how much proc keeps of a job's output, which the job keeps itself.
const jobTail = 1 << 10

func endOf(out proc.Outcome, timeout time.Duration) jobs.End {
	end := jobs.End{Failed: out.Code != 0 || out.Signal != "", Killed: out.Aborted, Detail: out.Exit.String(), Signal: out.Signal}
	if out.Signal == "" {
		code := out.Code
		end.ExitCode = &code
	}
	if out.TimedOut {
		end.Failed = true
		end.Detail = fmt.Sprintf("timed out after %dms, %s", timeout.Milliseconds(), end.Detail)
	}
	return end
}

func inBackground(args jsonvalue.Value) bool {
	yes, _ := args.Get("run_in_background").Bool()
	return yes
}

// presentBackground is the card of a call that starts a job. It ends with the
// call; the job has a card of its own.
func presentBackground(args jsonvalue.Value) *cards.Call {
	return &cards.Call{
		Card: cards.Generic, Kind: cards.KindExecute,
		Title: args.GetString("command"), RawInput: args.Get("command"),
		Content: []content.Block{content.Text(args.GetString("description"))},
	}
}
