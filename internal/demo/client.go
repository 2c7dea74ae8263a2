package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
	"github.com/dsh-acp/dsh-acp/internal/termui"
)

// client is the editor's side of the tour.
type client struct {
	screen     *termui.Screen
	opt        Options
	answers    *bufio.Reader
	asked      int
	stopReason string
}

// tour plays the session: initialize, session/new, one prompt.
func (c *client) tour(ctx context.Context, conn *wire.Conn, work string) error {
	caps := map[string]any{
		"fs": map[string]any{"readTextFile": false, "writeTextFile": false}, "terminal": false,
		"_meta": map[string]any{"terminal_output": c.opt.Terminal, "nested_tool_calls": true},
	}
	var agent struct {
		AgentInfo struct{ Name, Version string }
	}
	err := c.call(ctx, conn, "initialize", map[string]any{
		"protocolVersion": 1, "clientCapabilities": caps,
		"clientInfo": map[string]any{"name": "dsh-acp-demo", "version": "1"},
	}, &agent)
	if err != nil {
		return err
	}
	var session struct{ SessionID string }
	if err := c.call(ctx, conn, "session/new", map[string]any{"cwd": work, "mcpServers": []any{}}, &session); err != nil {
		return err
	}
	c.screen.Note("connected to " + agent.AgentInfo.Name + " " + agent.AgentInfo.Version)
	c.screen.User(prompt)
	var end struct{ StopReason string }
	err = c.call(ctx, conn, "session/prompt", map[string]any{
		"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": prompt}},
	}, &end)
	if err != nil {
		return err
	}
	c.stopReason = end.StopReason
	c.screen.EndTurn(end.StopReason)
	return nil
}

func (c *client) call(ctx context.Context, conn *wire.Conn, method string, params, result any) error {
	raw, err := conn.Call(ctx, method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return json.Unmarshal(raw, result)
}

// Handle takes the agent's messages in order. Updates are drawn here, so a
// question is never drawn before the card it is about.
func (c *client) Handle(_ context.Context, _ *wire.Conn, req *wire.Request) {
	switch req.Method {
	case "session/update":
		var p struct{ Update termui.Update }
		if err := json.Unmarshal(req.Params, &p); err != nil {
			c.screen.Note("the agent sent an update that is no update: " + err.Error())
			return
		}
		c.screen.Update(p.Update)
	case "session/request_permission":
		wire.Go(req, func(context.Context) (any, error) { return c.permission(req.Params) })
	default:
		if !req.Notif {
			_ = req.ReplyError(protocol.MethodNotFound(req.Method))
		}
	}
}

func (c *client) permission(raw json.RawMessage) (any, error) {
	var p struct {
		ToolCall termui.Update
		Options  []struct{ OptionID, Name, Kind string }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, protocol.InvalidParams("params", err.Error())
	}
	c.asked++
	var names []string
	for _, o := range p.Options {
		names = append(names, o.Name)
	}
	c.screen.Question(p.ToolCall.Title, names)
	want := "reject_once"
	if c.yes() {
		want = "allow_once"
	}
	for _, o := range p.Options {
		if o.Kind == want {
			c.screen.Answer(o.Name)
			return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.OptionID}}, nil
		}
	}
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}, nil
}

// yes asks y/n. The end of the input means no.
func (c *client) yes() bool {
	if c.opt.Yes {
		c.screen.Typed("y (--yes)")
		return true
	}
	if c.answers == nil {
		c.answers = bufio.NewReader(c.opt.In)
	}
	for {
		c.screen.Ask()
		line, err := c.answers.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		}
		if err != nil {
			return false
		}
	}
}
