package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// outcome is one run of one hook.
type outcome struct {
	verdict
	exit    int
	hasExit bool // it ended by itself
	stderr  string
	took    time.Duration
}

// execute runs one command. Its error is that of ctx; everything else that can
// go wrong is in the outcome.
func (h *Hooks) execute(ctx context.Context, p Point, hd handler, input []byte) (outcome, error) {
	began := time.Now()
	out, err := h.opts.Supervisor.Run(ctx, proc.Command{
		Spec: proc.Spec{
			Args: shellCommand(hd.command), Dir: h.opts.Cwd,
			Env: proc.CommandEnv(os.Environ(), "CLAUDE_PROJECT_DIR="+h.opts.Cwd),
		},
		Owner: h.opts.SessionID,
		Grace: time.Second,
	}, proc.RunOptions{Stdin: input, Timeout: hd.timeout, Limit: MaxOutput, EndGroup: true})
	o := outcome{took: time.Since(began)}
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case errors.Is(err, proc.ErrClosed) || out.Aborted:
		return o, proc.ErrClosed
	case err != nil:
		o.verdict = silent(p, err)
		return o, nil
	}
	o.stderr = out.Stderr.Text
	switch {
	case out.TimedOut:
		o.verdict = silent(p, fmt.Errorf("it was ended after %s without an answer", hd.timeout))
	case out.Signal != "":
		o.verdict = silent(p, fmt.Errorf("it was ended by %s", out.Signal))
	default:
		o.exit, o.hasExit = out.Code, true
		o.verdict = judge(p, answer{exit: out.Code, stdout: out.Stdout.Text, stderr: out.Stderr.Text, truncated: out.Stdout.Truncated})
	}
	return o, nil
}

func shellCommand(command string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", command}
	}
	return []string{"sh", "-c", command}
}

// event is the data of the log's hook/result.
func (o outcome) event(turn int64, p Point, id string) jsonvalue.Value {
	ms := []jsonvalue.Member{
		{Key: "turn", Value: jsonvalue.Int(turn)},
		{Key: "point", Value: jsonvalue.String(string(p))},
		{Key: "handlerId", Value: jsonvalue.String(id)},
		{Key: "decision", Value: jsonvalue.String(o.kind.String())},
	}
	if o.hasExit {
		ms = append(ms, jsonvalue.Member{Key: "exitCode", Value: jsonvalue.Int(int64(o.exit))})
	}
	if s := strings.TrimSpace(o.stderr); s != "" {
		ms = append(ms, jsonvalue.Member{Key: "stderrSummary", Value: jsonvalue.String(clip(s, maxSummary))})
	}
	if o.failure != nil {
		ms = append(ms, jsonvalue.Member{Key: "error", Value: jsonvalue.String(clip(o.failure.Error(), maxSummary))})
	}
	return jsonvalue.Object(append(ms, jsonvalue.Member{Key: "durationMs", Value: milliseconds(o.took)})...)
}

func milliseconds(d time.Duration) jsonvalue.Value {
	v, err := jsonvalue.Float(float64(d.Microseconds()) / 1000)
	if err != nil {
		return jsonvalue.Int(0)
	}
	return v
}
