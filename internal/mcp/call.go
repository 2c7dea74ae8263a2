package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Codes of calls that fail.
const (
	CodeServerDown = "MCP_SERVER_UNAVAILABLE" // the server is not there, or went away
	CodeRefused    = "MCP_CALL_FAILED"        // the server answered with an error
	CodeToolError  = "MCP_TOOL_ERROR"         // the tool says that it failed
)

// TypeProgress is the event of a sign of life of a call: {callId, progress?,
// total?, message?}.
const TypeProgress = "mcp/progress"

const (
	// returnWait is how long a call waits for a server that is being started again.
	returnWait = 15 * time.Second
	// maxCallTime bounds a call that shows signs of life.
	maxCallTime = time.Hour
	// progressPause is the least time between two signs of life that are shown.
	progressPause = 200 * time.Millisecond
)

// call is one call that is out.
type call struct {
	ctx   context.Context
	run   registry.Run
	token string
	limit time.Duration

	mu     sync.Mutex
	over   bool
	timer  *time.Timer
	began  time.Time
	paused int
	shown  time.Time
}

func fail(code, text string) error { return pipeline.NewError("McpError", code, text) }

// call carries one call over to the server and its answer back.
func (v *server) call(ctx context.Context, t *remoteTool, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	if !args.IsObject() {
		return jsonvalue.Value{}, pipeline.NewError("ToolArgsError", pipeline.CodeInvalidArgs, `invalid arguments: "arguments" must be an object`)
	}
	raw, err := v.send(ctx, t, args, run)
	if errors.Is(err, errNotSent) { // the connection had just ended
		raw, err = v.send(ctx, t, args, run)
	}
	if err != nil {
		return jsonvalue.Value{}, err
	}
	result, err := jsonvalue.Parse(raw)
	if err == nil && !result.IsObject() {
		err = fmt.Errorf("its result is no object but %s", result.Kind())
	}
	if err != nil {
		return jsonvalue.Value{}, fail(CodeRefused, fmt.Sprintf("the MCP server %s sent an answer that cannot be read: %v", v.cfg.Name, err))
	}
	if result.GetString("resultType") == "input_required" {
		return jsonvalue.Value{}, fail(CodeRefused, fmt.Sprintf("the MCP server %s asked for input that could not be given", v.cfg.Name))
	}
	value, failed := t.value(result)
	if failed {
		blocks, _ := render(args, value)
		v.keep(run.Execution(), blocks)
		text := content.JoinText(blocks)
		if text == "" {
			text = "the tool failed and does not say why"
		}
		return jsonvalue.Value{}, fail(CodeToolError, text)
	}
	return value, nil
}

// errNotSent is the failure of a call that its server has not seen.
var errNotSent = fail(CodeServerDown, "the connection to the MCP server ended before the call was sent")

// send makes the request and gives the bytes of its result.
func (v *server) send(ctx context.Context, t *remoteTool, args jsonvalue.Value, run registry.Run) (json.RawMessage, error) {
	l, err := v.ready(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)() // no answer comes any more
	c := &call{ctx: limited, run: run, limit: v.cfg.CallTimeout, began: time.Now()}
	timedOut := make(chan struct{})
	c.timer = time.AfterFunc(c.limit, func() {
		close(timedOut)
		cancel()
	})
	v.enter(c)
	defer v.leave(c)

	asking, answer := withAnswer(limited)
	params := &mcp.CallToolParams{Name: t.raw.name, Arguments: json.RawMessage(args.WellFormed().JSON())}
	params.SetProgressToken(c.token)
	_, err = l.session.CallTool(asking, params)
	if raw := answer.get(); raw != nil && ctx.Err() == nil {
		return raw, nil // what the library thought of it does not matter
	}
	select {
	case <-timedOut:
		ms := strconv.FormatInt(c.limit.Milliseconds(), 10)
		return nil, pipeline.NewError("ToolTimeoutError", pipeline.CodeToolTimeout, "tool call timed out after "+ms+"ms without a sign of life of the MCP server "+v.cfg.Name)
	default:
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return nil, fail(CodeRefused, "the MCP server "+v.cfg.Name+" sent an answer that cannot be read")
	}
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		return nil, v.callError(l, err)
	}
	// The end of a connection is noticed here a moment before its owner sees it.
	select {
	case <-l.gone:
	case <-time.After(time.Second):
	}
	if errors.Is(err, mcp.ErrConnectionClosed) {
		return nil, errNotSent
	}
	select {
	case <-l.gone:
		err = l.err
	default:
	}
	return nil, v.callError(l, err)
}

// callError puts the failure of a call into words.
func (v *server) callError(l *link, err error) error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		return fail(CodeRefused, fmt.Sprintf("the MCP server %s answered with an error: %s (%d)", v.cfg.Name, oneLine(answer.Message, 2000), answer.Code))
	}
	return fail(CodeServerDown, fmt.Sprintf("the MCP server %s did not answer: %v", v.cfg.Name, v.why(l, err)))
}

// ready is the connection; it waits a while for a server that is being started
// again.
func (v *server) ready(ctx context.Context) (*link, error) {
	deadline := time.NewTimer(returnWait)
	defer deadline.Stop()
	for {
		v.mu.Lock()
		l, state, err, changed := v.link, v.state, v.err, v.changed
		v.mu.Unlock()
		if l != nil {
			select {
			case <-l.gone: // its end is about to be noticed
			default:
				return l, nil
			}
		}
		if state == Failed || state == Closed {
			return nil, fail(CodeServerDown, fmt.Sprintf("the MCP server %s is not running: %v", v.cfg.Name, err))
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		case <-deadline.C:
			return nil, fail(CodeServerDown, fmt.Sprintf("the MCP server %s is being started again: %v", v.cfg.Name, err))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter makes a call known, so that what the server says of it finds it.
func (v *server) enter(c *call) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.callCount++
	c.token = "call-" + strconv.Itoa(v.callCount)
	v.calls[c.token] = c
	v.lastCall = append(v.lastCall, c)
}

// leave forgets it. Nothing more is shown of it.
func (v *server) leave(c *call) {
	c.mu.Lock()
	c.over = true
	c.timer.Stop()
	c.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.calls, c.token)
	for i, x := range v.lastCall {
		if x == c {
			v.lastCall = append(v.lastCall[:i:i], v.lastCall[i+1:]...)
			break
		}
	}
}

// alive restarts the clock of a call, within the bound of all.
func (c *call) alive() {
	if c.paused > 0 || c.over {
		return
	}
	if time.Since(c.began) < maxCallTime && c.timer.Stop() {
		c.timer.Reset(c.limit)
	}
}

// pause stops the clock while a person thinks.
func (c *call) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		c.timer.Stop()
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 && !c.over {
			c.timer.Reset(c.limit)
		}
	})
}

// progressed shows a sign of life on the card of its call.
func (v *server) progressed(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	v.mu.Lock()
	c := v.calls[token]
	v.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alive()
	if c.over || time.Since(c.shown) < progressPause {
		return
	}
	c.shown = time.Now()
	data := []jsonvalue.Member{{Key: "callId", Value: jsonvalue.String(c.run.Execution().CallID())}}
	number := func(key string, x float64) {
		if n, err := jsonvalue.Float(x); err == nil {
			data = append(data, jsonvalue.Member{Key: key, Value: n})
		}
	}
	number("progress", req.Params.Progress)
	if req.Params.Total > 0 {
		number("total", req.Params.Total)
	}
	if req.Params.Message != "" {
		data = append(data, jsonvalue.Member{Key: "message", Value: jsonvalue.String(oneLine(req.Params.Message, 500))})
	}
	if err := c.run.Emit(TypeProgress, jsonvalue.Object(data...)); err != nil {
		v.log.Debug("progress could not be shown", "err", err)
	}
}
