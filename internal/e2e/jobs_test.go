package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func inBackground(command string) string {
	return tool("bash", map[string]any{"command": command, "description": "Serve", "run_in_background": true})
}

func output(id string, wait bool) string {
	return tool("task_output", map[string]any{"task_id": id, "wait": wait})
}

// A job's card runs from its start to its end, past the end of the turn, and its
// output is shown on it as it comes.
func TestAJobIsShownUntilItEnds(t *testing.T) {
	for name, caps := range map[string]map[string]any{"terminals": terminals, "content": nil} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: fullAccess})
			s := c.open(caps)
			c.prompt(s, inBackground(untilGo))
			calls := c.calls(s)
			if len(calls) != 2 || calls[0].Status != "completed" || calls[1].Status != "in_progress" || calls[1].Kind != "execute" {
				t.Fatalf("after the turn: %+v", calls)
			}
			if !strings.Contains(string(calls[0].Content), "started background task bash_1") {
				t.Errorf("the call: %s", calls[0].Content)
			}
			id := calls[1].ToolCallID
			c.waitUpdate("live output between turns", s, func(u update) bool {
				return u.ToolCallID == id && (strings.Contains(string(u.Meta), `"one\n"`) || strings.Contains(string(u.Content), "console\\none\\n"))
			})
			c.prompt(s, output("bash_1", false))
			if last := c.calls(s)[2]; !strings.Contains(string(last.RawOutput), `"one\n[status: running]"`) {
				t.Errorf("task_output: %s", last.RawOutput)
			}
			touch(t, filepath.Join(c.cwd, "go"))
			end := c.waitUpdate("the end", s, func(u update) bool { return u.ToolCallID == id && u.Status == "failed" })
			if caps == nil {
				if want := "```console\\none\\ntwo\\n[status: failed, exit code: 3]\\n```"; !strings.Contains(string(end.Content), want) {
					t.Errorf("the end: %s", end.Content)
				}
				return
			}
			text, exit := terminalOf(t, c.updates(s), id)
			if text != "one\ntwo\n[status: failed, exit code: 3]" || exit["exit_code"] != 3.0 {
				t.Errorf("the terminal shows %q and ends with %v", text, exit)
			}
		})
	}
}

// The model is told with its next step that a job has ended, once.
func TestTheModelIsToldThatAJobHasEnded(t *testing.T) {
	dir := t.TempDir()
	c := start(t, setup{config: fullAccess + fmt.Sprintf("sessions:\n  dir: %q\n", dir)})
	s := c.open(nil)
	c.prompt(s, inBackground("echo hello"))
	c.waitUpdate("the end", s, func(u update) bool { return u.ToolCallID == "job:bash_1" && u.Status == "completed" })
	c.prompt(s, "/tool task_list {}")
	c.prompt(s, "/tool task_list {}")
	logs, _ := filepath.Glob(filepath.Join(dir, s, "*.jsonl"))
	if len(logs) != 1 {
		t.Fatalf("logs %q", logs)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "background task bash_1 (bash: echo hello) finished [status: completed, exit code: 0]. Read its output with task_output."); n != 1 {
		t.Errorf("told %d times:\n%s", n, log)
	}
}

// Closing a session ends its jobs with their whole group, and says so in the log
// that is loaded later.
func TestJobsEndWithTheirSession(t *testing.T) {
	cfg := fullAccess + fmt.Sprintf("sessions:\n  dir: %q\n", t.TempDir())
	for name, leave := range map[string]func(*client, string){
		"session/close": func(c *client, s string) {
			if f := c.call("session/close", map[string]any{"sessionId": s}); f.Error != nil {
				c.t.Error(f.Error)
			}
		},
		"end of input": func(c *client, _ string) { c.closeInput() },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, setup{config: cfg})
			s := c.open(nil)
			c.prompt(s, inBackground("echo serving; sleep 600 & echo $! > pid; wait"))
			c.waitUpdate("what the job prints", s, func(u update) bool {
				return strings.Contains(string(u.Content), "serving") && u.ToolCallID == "job:bash_1" && u.Status == ""
			})
			pid := waitForFile(t, filepath.Join(c.cwd, "pid"))
			leave(c, s)
			wantGone(t, pid, "the job's child")
			closed := "[status: killed, the session was closed]"
			if strings.Contains(c.stderr.String(), "did not end") { // the machine stood still just then
				closed = "[status: killed, the program stopped while it was running]"
			}
			d := c
			if name == "end of input" {
				d = start(t, setup{config: cfg, cwd: c.cwd})
				d.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
			}
			before := len(d.updates(s))
			if f := d.call("session/load", map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}}); f.Error != nil {
				t.Fatal(f.Error)
			}
			ended := false
			for _, u := range d.updates(s)[before:] {
				ended = ended || u.ToolCallID == "job:bash_1" && u.Status == "failed" &&
					strings.Contains(string(u.Content), "serving\\n"+closed)
			}
			if !ended {
				t.Errorf("the job's card does not end: %+v", d.updates(s)[before:])
			}
			d.prompt(s, output("bash_1", false))
			updates := d.updates(s)
			if last := updates[len(updates)-1]; !strings.Contains(dumpUpdates(updates), closed) {
				t.Errorf("%+v", last)
			}
		})
	}
}

func dumpUpdates(us []update) string {
	var b strings.Builder
	for _, u := range us {
		fmt.Fprintf(&b, "%s %s %s\n", u.ToolCallID, u.Status, u.RawOutput)
	}
	return b.String()
}

// A program may start jobs too: they are the session's.
func TestAProgramStartsAJob(t *testing.T) {
	c := start(t, setup{config: fullAccess + "tools:\n  mode: both\n"})
	s := c.open(nil)
	c.prompt(s, fenced(`const job = await tools.bash({command: "echo from a job", description: "Say it", run_in_background: true})
if (job.kind !== "background") throw new Error("no handle: " + JSON.stringify(job))
const end = await tools.task_output({task_id: job.taskId, wait: true})
return [end.text, end.task.status, (await tools.task_list({})).length]`))
	if got := string(c.calls(s)[0].RawOutput); !strings.Contains(got, "from a job") || !strings.Contains(got, "completed") {
		t.Errorf("%s", got)
	}
}

// Cancelling a turn that waits for a job ends the wait and leaves the job.
func TestCancelEndsAWaitAndNotTheJob(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.open(nil)
	c.prompt(s, inBackground(untilGo))
	turn := c.request("session/prompt", textPrompt(s, output("bash_1", true)))
	c.waitUpdate("the wait", s, func(u update) bool {
		return u.Status == "in_progress" && u.SessionUpdate == "tool_call_update" && strings.HasPrefix(u.ToolCallID, "local-3")
	})
	c.notify("session/cancel", map[string]any{"sessionId": s}) // the job would go on for ever
	if stop := stopReason(c.reply(turn)); stop != "cancelled" {
		t.Errorf("%q", stop)
	}
	c.prompt(s, "/tool task_list {}")
	if !strings.Contains(dumpUpdates(c.updates(s)), "bash_1 [bash] running") {
		t.Error("the job is gone")
	}
}

func TestBackgroundTasksCanBeSwitchedOff(t *testing.T) {
	c := start(t, setup{config: fullAccess + "tools:\n  max_background_tasks: 0\n"})
	s := c.open(nil)
	c.prompt(s, inBackground("echo x"))
	if got := c.calls(s)[0]; got.Status != "failed" {
		t.Errorf("%+v", got)
	}
}

// Killing the agent without warning leaves no job running, and the session that is
// loaded then shows it ended.
func TestAJobEndsWithAKilledAgent(t *testing.T) {
	cfg := fullAccess + fmt.Sprintf("sessions:\n  dir: %q\n", t.TempDir())
	c := start(t, setup{config: cfg})
	s := c.open(nil)
	c.prompt(s, inBackground("echo $$ > pid; exec sleep 600"))
	pid := waitForFile(t, filepath.Join(c.cwd, "pid"))
	c.kill()
	if runtime.GOOS == "linux" { // elsewhere nobody is told of the agent's end
		wantGone(t, pid, "the job")
	}
	d := start(t, setup{config: cfg, cwd: c.cwd})
	d.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	if f := d.call("session/load", map[string]any{"sessionId": s, "cwd": c.cwd, "mcpServers": []any{}}); f.Error != nil {
		t.Fatal(f.Error)
	}
	calls := d.calls(s)
	if last := calls[len(calls)-1]; last.ToolCallID != "job:bash_1" || last.Status != "failed" || !strings.Contains(string(last.Content), "[status: killed, the program stopped while it was running]") {
		t.Errorf("%s is %s: %s", last.ToolCallID, last.Status, last.Content)
	}
	d.prompt(s, "/tool task_list {}")
	if !strings.Contains(dumpUpdates(d.updates(s)), "bash_1 [bash] killed") {
		t.Error("the job is not known any more")
	}
}
