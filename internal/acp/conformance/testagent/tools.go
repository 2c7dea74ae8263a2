package testagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// toolCall is one call under way.
type toolCall struct {
	t     *turn
	id    string
	kind  string
	title string
	input object
	// path and the texts are set for files.
	path     string
	old      *string
	new      string
	location bool
}

// callTool announces a call, runs it and ends it.
func (t *turn) callTool(ctx context.Context, name, rest string) {
	t.usage()
	t.calls++
	c := &toolCall{t: t, id: fmt.Sprintf("call-%d-%d", t.number, t.calls), kind: "execute", title: rest, input: object{"command": rest}}
	var run func(context.Context) (string, error)
	var args struct{ Path, Content, Old, New, Server, Tool string }
	if strings.HasPrefix(rest, "{") {
		_ = json.Unmarshal([]byte(rest), &args)
		c.input = object{}
		_ = json.Unmarshal([]byte(rest), &c.input)
	}
	switch name {
	case "!command":
		run = func(ctx context.Context) (string, error) { return c.command(ctx, rest) }
	case "!read":
		c.kind, c.title, c.path, c.location = "read", "Read "+args.Path, args.Path, true
		run = func(ctx context.Context) (string, error) { return c.read(ctx) }
	case "!write":
		c.kind, c.title, c.path, c.new, c.location = "edit", "Write "+args.Path, args.Path, args.Content, true
		if data, err := os.ReadFile(args.Path); err == nil {
			old := string(data)
			c.old = &old
		}
		run = func(ctx context.Context) (string, error) { return "written", c.write(ctx, args.Content) }
	case "!edit":
		c.kind, c.title, c.path, c.location = "edit", "Edit "+args.Path, args.Path, true
		text, _ := c.read(ctx)
		c.old, c.new = &text, strings.Replace(text, args.Old, args.New, 1)
		run = func(ctx context.Context) (string, error) { return "edited", c.write(ctx, c.new) }
	case "!mcp":
		c.kind, c.title = "other", args.Tool
		run = func(ctx context.Context) (string, error) { return t.s.callMCP(ctx, args.Server, args.Tool) }
	}
	c.announce()
	if (c.kind == "edit") && !c.allowed(ctx) {
		status := "failed"
		if t.s.a.breaks(69) {
			status = "completed"
		}
		c.end(status, "not allowed")
		return
	}
	c.update(object{"status": "in_progress"})
	output, err := run(ctx)
	switch {
	case t.s.a.breaks(68):
	case err != nil:
		c.end("failed", err.Error())
	default:
		c.end("completed", output)
	}
}

func (c *toolCall) announce() {
	if c.t.s.a.breaks(67) {
		c.update(object{"status": "pending"})
	}
	u := object{"sessionUpdate": "tool_call", "toolCallId": c.id, "title": c.title, "kind": c.kind, "status": "pending", "rawInput": c.input}
	if c.location {
		line := 1
		if c.t.s.a.breaks(71) {
			line = 0
		}
		u["locations"] = []any{object{"path": c.path, "line": line}}
	}
	if d := c.diff(); d != nil {
		u["content"] = d
	}
	c.t.s.show(u)
}

func (c *toolCall) diff() []any {
	if c.kind != "edit" {
		return nil
	}
	path := c.path
	if c.t.s.a.breaks(70) {
		path = filepath.Base(path)
	}
	d := object{"type": "diff", "path": path, "newText": c.new, "oldText": nil}
	if c.old != nil {
		d["oldText"] = *c.old
	}
	return []any{d}
}

func (c *toolCall) update(u object) {
	u["sessionUpdate"], u["toolCallId"] = "tool_call_update", c.id
	if c.t.s.a.breaks(84) && u["status"] == "in_progress" {
		u["status"] = "busy"
	}
	c.t.s.show(u)
}

func (c *toolCall) end(status, output string) {
	u := object{"status": status, "rawOutput": output}
	if d := c.diff(); d == nil {
		u["content"] = []any{object{"type": "content", "content": textBlock(output)}}
	}
	c.update(u)
}

// allowed asks for permission.
func (c *toolCall) allowed(ctx context.Context) bool {
	s := c.t.s
	if s.always {
		return true
	}
	options := []any{
		object{"optionId": "once", "name": "Allow once", "kind": "allow_once"},
		object{"optionId": "always", "name": "Allow for this session", "kind": "allow_always"},
		object{"optionId": "no", "name": "Reject", "kind": "reject_once"},
	}
	if s.a.breaks(72) {
		options = append(options, object{"optionId": "once2", "name": "Allow once more", "kind": "allow_once"})
	}
	asking := ctx
	if s.a.breaks(65) {
		asking = context.WithoutCancel(ctx)
	}
	m, err := s.a.call(asking, "session/request_permission", object{
		"sessionId": s.id, "options": options,
		"toolCall": object{"toolCallId": c.id, "title": c.title, "kind": c.kind, "rawInput": c.input, "content": c.diff()},
	})
	if err != nil {
		return s.a.breaks(75)
	}
	var r struct {
		Outcome struct{ Outcome, OptionID string }
	}
	_ = json.Unmarshal(m.Result, &r)
	switch r.Outcome.OptionID {
	case "always":
		s.always = !s.a.breaks(74)
		return true
	case "once", "once2":
		return ctx.Err() == nil || s.a.breaks(65)
	case "no", "":
		return false
	}
	return s.a.breaks(73)
}

// path is what the client is told.
func (c *toolCall) clientPath() string {
	if c.t.s.a.breaks(77) {
		return filepath.Base(c.path)
	}
	return c.path
}

func (c *toolCall) read(ctx context.Context) (string, error) {
	s := c.t.s
	if s.a.fs {
		m, err := s.a.call(ctx, "fs/read_text_file", object{"sessionId": s.id, "path": c.clientPath()})
		var r struct{ Content *string }
		if err == nil && json.Unmarshal(m.Result, &r) == nil && r.Content != nil {
			return *r.Content, nil
		}
	}
	data, err := os.ReadFile(c.path)
	return string(data), err
}

func (c *toolCall) write(ctx context.Context, text string) error {
	s := c.t.s
	if s.a.fs {
		if _, err := s.a.call(ctx, "fs/write_text_file", object{"sessionId": s.id, "path": c.clientPath(), "content": text}); err == nil {
			return nil
		}
	}
	return os.WriteFile(c.path, []byte(text), 0o644)
}

// command runs a shell command, in the client's terminal where it has them.
func (c *toolCall) command(ctx context.Context, command string) (string, error) {
	s := c.t.s
	if s.a.term {
		return c.inTerminal(ctx, command)
	}
	if s.a.breaks(64) {
		ctx2, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx2, "sh", "-c", command)
		cmd.Dir = s.cwd
		if err := cmd.Start(); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "left running", nil
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = time.Second
	if !s.a.breaks(31) {
		cmd.Dir = s.cwd
	}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(out), errors.New("cancelled")
	}
	if len(out) > 1000 {
		out = append(out[:1000], "…"...)
	}
	return string(out), err
}

func (c *toolCall) inTerminal(ctx context.Context, command string) (string, error) {
	s := c.t.s
	m, err := s.a.call(ctx, "terminal/create", object{"sessionId": s.id, "command": "sh", "args": []string{"-c", command}, "cwd": s.cwd})
	if err != nil {
		return "", err
	}
	var r struct{ TerminalID string }
	_ = json.Unmarshal(m.Result, &r)
	of := object{"sessionId": s.id, "terminalId": r.TerminalID}
	c.update(object{"content": []any{object{"type": "terminal", "terminalId": r.TerminalID}}})
	_, waited := s.a.call(ctx, "terminal/wait_for_exit", of)
	out := context.WithoutCancel(ctx)
	if waited != nil {
		_, _ = s.a.call(out, "terminal/kill", of)
	}
	_, _ = s.a.call(out, "terminal/output", of)
	if !s.a.breaks(78) {
		_, _ = s.a.call(out, "terminal/release", of)
	}
	return "done in the terminal", waited
}
