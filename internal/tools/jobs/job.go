package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Status is where a job stands.
type Status string

// The states of a job. Stopping is between task_kill and the end.
const (
	Running   Status = "running"
	Stopping  Status = "stopping"
	Completed Status = "completed"
	Killed    Status = "killed"
	Failed    Status = "failed"
)

// Why a job was ended.
var (
	errKilled        = errors.New("the task was killed")
	errSessionClosed = errors.New("the session was closed")
)

// Job is one job.
type Job struct {
	m     *Manager
	owner string
	id    string
	spec  Spec
	to    session

	ctx       context.Context
	cancel    context.CancelCauseFunc
	announced chan struct{} // closed when the start is logged, or never will be
	done      chan struct{} // closed when the job has ended and its end is logged

	failure error // why nothing was started; good once done is closed

	mu       sync.Mutex
	status   Status
	end      End
	began    time.Time
	finished time.Time
	out      buffer
	live     bool // the start is logged: output may be shown
	told     bool // the model knows of the end
}

func newJob(m *Manager, owner, id string, s Spec) *Job {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.Label = oneLine(s.Label)
	return &Job{
		m: m, owner: owner, id: id, spec: s, ctx: ctx, cancel: cancel,
		announced: make(chan struct{}), done: make(chan struct{}),
		status: Running, began: time.Now(),
	}
}

func (j *Job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// run is the job's goroutine. The manager's Close waits for it by done.
func (j *Job) run(body func(context.Context, func(), func([]byte)) (End, error), began chan<- struct{}) {
	defer close(j.done)
	started := false
	end, err := j.contained(body, func() { started = true; close(began) })
	if !started {
		if err == nil {
			err = errors.New("the background task ended before it had begun")
		}
		j.failure = err
		j.cancel(nil)
		return
	}
	<-j.announced
	j.finish(end, err)
}

func (j *Job) contained(body func(context.Context, func(), func([]byte)) (End, error), started func()) (end End, err error) {
	defer func() {
		if r := recover(); r != nil {
			j.m.opts.Logger.Error("a background task panicked", "task", j.id, "panic", r)
			end, err = End{Failed: true}, errors.New("it broke unexpectedly; the log has the details")
		}
	}()
	return body(j.ctx, started, j.write)
}

// write takes output. It does not block.
func (j *Job) write(p []byte) {
	j.mu.Lock()
	j.out.write(p)
	live := j.live
	j.mu.Unlock()
	if live {
		j.to.CallOutput(cards.JobCardID(j.id), p)
	}
}

// announce logs the start. Output that came before is shown behind it.
func (j *Job) announce(exec *registry.Execution) error {
	defer close(j.announced)
	data := jsonvalue.Object(
		member("taskId", j.id), member("callId", exec.CallID()), member("kind", j.spec.Kind), member("label", j.spec.Label))
	for _, m := range []jsonvalue.Member{member("description", j.spec.Description), member("cwd", j.spec.Cwd), member("outputPath", j.out.path)} {
		if s, _ := m.Value.Str(); s != "" {
			data = data.With(m.Key, m.Value)
		}
	}
	if err := j.to.Record(TypeStart, data); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = true
	if early := j.out.peek(); len(early) > 0 {
		j.to.CallOutput(cards.JobCardID(j.id), early)
	}
	return nil
}

// finish settles how the job ended and logs it.
func (j *Job) finish(end End, err error) {
	cause := context.Cause(j.ctx)
	j.mu.Lock()
	j.out.spool.close()
	j.finished = time.Now()
	switch {
	case cause != nil || end.Killed:
		j.status = Killed
		if !errors.Is(cause, errKilled) {
			end.Detail = "the session was closed"
		}
	case err != nil:
		j.status, end.Failed, end.Detail = Failed, true, err.Error()
	case end.Failed:
		j.status = Failed
	default:
		j.status = Completed
	}
	j.end = end
	text, cut := j.out.last()
	data := jsonvalue.Object(member("taskId", j.id), member("status", string(j.status)))
	if end.Detail != "" {
		data = data.With("detail", jsonvalue.String(end.Detail))
	}
	if end.ExitCode != nil {
		data = data.With("exitCode", jsonvalue.Int(int64(*end.ExitCode)))
	}
	if end.Signal != "" {
		data = data.With("signal", jsonvalue.String(end.Signal))
	}
	data = data.With("output", jsonvalue.String(text))
	if cut {
		data = data.With("truncated", jsonvalue.Bool(true))
		if j.out.path != "" {
			data = data.With("outputPath", jsonvalue.String(j.out.path))
		}
		if j.out.path != "" && j.out.cut {
			data = data.With("outputHeld", jsonvalue.Int(j.out.written))
		}
	}
	j.mu.Unlock()
	j.cancel(nil)
	if err := j.to.Record(TypeEnd, data); err != nil {
		j.m.opts.Logger.Warn("the end of a background task could not be logged", "task", j.id, "err", err)
	}
}

// kill asks for the job's end and reports whether it had not ended before.
func (j *Job) kill() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.status != Running && j.status != Stopping {
		return false
	}
	j.status = Stopping
	j.cancel(errKilled)
	return true
}

// wait waits for the job's end, for a time. A wait that is over is no error.
func (j *Job) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// read is the output since the last read, and the job as it is then.
func (j *Job) read() (text string, lost bool, path, holds string, task jsonvalue.Value) {
	j.mu.Lock()
	defer j.mu.Unlock()
	text, lost = j.out.read()
	if !j.finished.IsZero() {
		j.told = true // it has read the end
	}
	return text, lost, j.out.path, j.out.holds(), j.value()
}

// value is the job as the tools show it. The caller holds j.mu.
func (j *Job) value() jsonvalue.Value {
	v := jsonvalue.Object(
		member("id", j.id), member("kind", j.spec.Kind), member("label", j.spec.Label), member("status", string(j.status)))
	if j.end.Detail != "" {
		v = v.With("detail", jsonvalue.String(j.end.Detail))
	}
	v = v.With("startedAt", jsonvalue.String(stamp(j.began)))
	if !j.finished.IsZero() {
		v = v.With("finishedAt", jsonvalue.String(stamp(j.finished)))
	}
	return v
}

func (j *Job) task() jsonvalue.Value {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.value()
}

// tell is what the model is to be told of the job, once.
func (j *Job) tell() (text string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.told || j.finished.IsZero() {
		return "", false
	}
	j.told = true
	return fmt.Sprintf("background task %s (%s: %s) finished %s. Read its output with task_output.",
		j.id, j.spec.Kind, j.spec.Label, statusLine(j.value())), true
}

// statusLine is the line about a job's state.
func statusLine(task jsonvalue.Value) string {
	if detail := task.GetString("detail"); detail != "" {
		return "[status: " + task.GetString("status") + ", " + detail + "]"
	}
	return "[status: " + task.GetString("status") + "]"
}

// notice is a context message about a job.
func notice(id, text string) registry.Context {
	return registry.Context{
		Content: []content.Block{content.Text(text)},
		Source:  jsonvalue.Object(member("kind", "plugin"), member("plugin", "background-tasks")),
		Meta:    jsonvalue.Object(member("taskId", id)),
	}
}

func member(key, value string) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: jsonvalue.String(value)}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
