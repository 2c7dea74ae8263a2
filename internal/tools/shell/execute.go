package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// errAborted is what the model reads of a command that was cancelled.
var errAborted = errors.New("command aborted")

// request is a checked call.
type request struct {
	command string
	workdir string // as given
	timeout time.Duration
	// background starts a job. Its time is limited only when limited is set: by
	// the call, not by the default.
	background, limited bool
	description         string
}

func (s *Shell) parse(args jsonvalue.Value) (request, error) {
	r := request{command: tools.Text(args, "command"), workdir: tools.Text(args, "workdir"), timeout: s.opts.DefaultTimeout}
	if r.command == "" {
		return r, errors.New("invalid command: expected a non-empty string")
	}
	if strings.IndexByte(r.command, 0) >= 0 || strings.IndexByte(r.workdir, 0) >= 0 {
		return r, errors.New("invalid command: it holds a NUL character, which no program can be given")
	}
	r.description = args.GetString("description")
	r.background, _ = args.Get("run_in_background").Bool()
	if r.description == "" {
		return r, errors.New("invalid description: expected a non-empty string")
	}
	if v := args.Get("timeoutMs"); !v.IsUndefined() {
		ms, ok := v.Float()
		if !ok || !(ms > 0) {
			return r, fmt.Errorf("invalid timeoutMs: expected a positive number, got %s", v.Canonical())
		}
		most := MaxTimeout
		if r.background {
			most, r.limited = MaxBackgroundTimeout, true
		}
		r.timeout = time.Duration(math.Ceil(min(ms, float64(most.Milliseconds())))) * time.Millisecond
	}
	return r, nil
}

func (s *Shell) execute(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	req, err := s.parse(args)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if !s.opts.Escalation {
		if err := tools.RefuseEscalation(args); err != nil {
			return jsonvalue.Value{}, err
		}
	}
	exec := run.Execution()
	dir, err := workdir(tools.Cwd(exec), req.workdir)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	cmd := proc.Command{
		Spec:  proc.Spec{Args: []string{"bash", "-c", req.command}, Env: s.environment(exec, dir), Dir: dir},
		Owner: owner(exec),
	}
	box, err := s.confine(exec, &cmd)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if req.background {
		return s.background(ctx, run, req, cmd)
	}
	var shown printed
	out, err := s.opts.Supervisor.Run(ctx, cmd, proc.RunOptions{
		Timeout:   req.timeout,
		SpillDir:  s.spillDir(exec),
		SpillName: "bash",
		Conceal:   s.opts.Conceal,
		OnOutput: func(_ proc.Stream, chunk []byte) {
			shown.write(chunk)
			run.Output(chunk)
		},
	})
	switch {
	case ctx.Err() != nil || out.Aborted:
		shown.record(exec)
		return jsonvalue.Value{}, errAborted
	case err != nil:
		return jsonvalue.Value{}, err
	}
	return confined(value(out, req.timeout), out, box, dir), nil
}

// spillDir is where the whole of a long output goes.
func (s *Shell) spillDir(exec *registry.Execution) string {
	if s.opts.SessionDir != nil {
		if dir := s.opts.SessionDir(tools.SessionID(exec)); dir != "" {
			return dir
		}
	}
	return s.opts.SpillDir
}

// workdir resolves the directory of a command. The session's own is
// canonical, so that pwd says the same in every call.
func workdir(cwd, given string) (string, error) {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	dir := cwd
	if given != "" {
		dir = given
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("cannot run in %q: there is no such directory", dir)
	case err != nil:
		return "", fmt.Errorf("cannot run in %q: %v", dir, unwrapPath(err))
	case !info.IsDir():
		return "", fmt.Errorf("cannot run in %q: not a directory", dir)
	}
	return dir, nil
}

// unwrapPath drops the operation and the path, which the message has already.
func unwrapPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// environment is what the command sees: ours without credentials, made
// non-interactive, with variables that describe the session.
func (s *Shell) environment(exec *registry.Execution, dir string) []string {
	extra := []string{"PWD=" + dir, "DSH_SHELL=1"}
	if s.opts.Home != "" {
		extra = append(extra, "DSH_HOME="+s.opts.Home)
	}
	if id := tools.SessionID(exec); id != "" {
		extra = append(extra, "DSH_SESSION_ID="+id)
	}
	if a, ok := exec.Agent().(interface{ SessionLogPath() string }); ok && a.SessionLogPath() != "" {
		extra = append(extra, "DSH_SESSION_JSONL="+a.SessionLogPath())
	}
	return proc.CommandEnv(s.opts.Environ(), extra...)
}

// owner is whom background processes belong to: the session they were started in.
func owner(exec *registry.Execution) string {
	if id := tools.SessionID(exec); id != "" {
		return id
	}
	return tools.AgentKey(exec)
}

func value(out proc.Outcome, timeout time.Duration) jsonvalue.Value {
	exitCode, signal := jsonvalue.Int(int64(out.Code)), jsonvalue.Null()
	if out.Signal != "" {
		exitCode, signal = jsonvalue.Null(), jsonvalue.String(out.Signal)
	}
	return jsonvalue.Object(
		jsonvalue.Member{Key: "kind", Value: jsonvalue.String("foreground")},
		jsonvalue.Member{Key: "exitCode", Value: exitCode},
		jsonvalue.Member{Key: "signal", Value: signal},
		jsonvalue.Member{Key: "timedOut", Value: jsonvalue.Bool(out.TimedOut)},
		jsonvalue.Member{Key: "aborted", Value: jsonvalue.Bool(false)}, // an aborted command is an error
		jsonvalue.Member{Key: "timeoutMs", Value: jsonvalue.Int(timeout.Milliseconds())},
		jsonvalue.Member{Key: "stdout", Value: stream(out.Stdout)},
		jsonvalue.Member{Key: "stderr", Value: stream(out.Stderr)},
	)
}

func stream(o proc.Output) jsonvalue.Value {
	v := jsonvalue.Object(
		jsonvalue.Member{Key: "text", Value: jsonvalue.String(o.Text)},
		jsonvalue.Member{Key: "truncated", Value: jsonvalue.Bool(o.Truncated)},
	)
	if o.SpillPath != "" {
		v = v.With("spillPath", jsonvalue.String(o.SpillPath))
	}
	return v
}
