package testagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// prompt takes a prompt and runs it beside the reading of further messages.
func (a *agent) prompt(m message) {
	text, code, why := a.promptText(m)
	if code != 0 {
		a.fail(m.ID, code, why)
		return
	}
	s := a.find(sessionID(m))
	if s == nil {
		code := -32002
		if a.breaks(45) {
			code = -32603
		}
		a.fail(m.ID, code, "no such session")
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	start := func() {
		a.mu.Lock()
		s.prompts++
		first := s.prompts == 1
		was := s.cancelled
		s.cancelled, s.stop = false, stop
		a.requests[string(m.ID)] = stop
		a.mu.Unlock()
		if a.breaks(52) && !first {
			a.fail(m.ID, -32603, "one turn was enough")
			return
		}
		if a.breaks(62) && was {
			a.reply(m.ID, object{"stopReason": "cancelled"})
			return
		}
		s.turn(ctx, m.ID, text)
	}
	a.mu.Lock()
	busy := s.stop != nil
	a.mu.Unlock()
	if busy && !a.breaks(51) {
		stop()
		a.fail(m.ID, -32600, "a prompt runs already")
		return
	}
	if a.breaks(12) {
		start()
		return
	}
	a.mu.Lock()
	if !a.breaks(60) {
		s.stop = stop // found by what follows at once
		a.requests[string(m.ID)] = stop
	}
	a.mu.Unlock()
	a.work.Go(func() {
		if a.breaks(60) {
			time.Sleep(100 * time.Millisecond)
		}
		start()
	})
	s.turns.Add(0)
}

// promptText flattens a prompt; a code that is not 0 refuses it.
func (a *agent) promptText(m message) (text string, code int, why string) {
	var p struct {
		SessionID string
		Prompt    []struct {
			Type, Text, URI string
			Resource        struct{ Text, URI string }
		}
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		if a.breaks(46) {
			return "", -32603, err.Error()
		}
		return "", -32602, err.Error()
	}
	var b strings.Builder
	for _, block := range p.Prompt {
		switch {
		case block.Type == "text":
			b.WriteString(block.Text + "\n")
		case block.Type == "resource_link" && !a.breaks(48), block.Type == "image":
			b.WriteString(block.URI + "\n")
		case block.Type == "resource" && !a.breaks(49):
			b.WriteString(block.Resource.URI + block.Resource.Text + "\n")
		case a.breaks(50) && block.Type == "hologram":
		default:
			return "", -32602, "the block " + block.Type + " is not known"
		}
	}
	return b.String(), 0, ""
}

// failure ends a turn with an error.
type failure struct {
	code int
	text string
}

func (f failure) Error() string { return f.text }

var errMaxSteps = errors.New("too many steps")

// turn runs one prompt and answers it.
func (s *session) turn(ctx context.Context, id json.RawMessage, text string) {
	a := s.a
	if !a.breaks(51) {
		s.running.Lock()
		defer s.running.Unlock()
	}
	a.mu.Lock()
	s.said = append(s.said, text)
	earlier := strings.Join(s.said[:len(s.said)-1], " ")
	number := s.prompts
	a.mu.Unlock()
	s.keep(object{"sessionUpdate": "user_message_chunk", "content": textBlock(text), "messageId": fmt.Sprintf("user-%d", number)})
	t := &turn{s: s, number: number, reason: "end_turn"}
	err := t.run(ctx, text, earlier)
	s.save()
	defer func() {
		if a.breaks(53) {
			time.Sleep(100 * time.Millisecond)
			t.say("one more thing")
		}
	}()
	a.mu.Lock()
	delete(a.requests, string(id))
	s.stop()
	s.stop = nil
	a.mu.Unlock()
	var f failure
	switch {
	case ctx.Err() != nil && t.finished:
		a.reply(id, object{"stopReason": "cancelled"})
	case errors.Is(err, errMaxSteps):
		a.reply(id, object{"stopReason": a.unless(55, "max_turn_requests")})
	case errors.As(err, &f) && !a.breaks(54):
		a.send(object{"id": id, "error": object{"code": f.code, "message": f.text, "data": object{"details": f.text}}})
	default:
		a.reply(id, object{"stopReason": a.unless(55, t.reason)})
	}
}

func (a *agent) unless(item int, reason string) string {
	if a.breaks(item) {
		return "end_turn"
	}
	return reason
}

func textBlock(text string) object { return object{"type": "text", "text": text} }

// turn is one turn under way.
type turn struct {
	s        *session
	number   int
	calls    int
	chunks   int
	said     bool
	finished bool
	reason   string
}

// run does what the lines of a prompt say.
func (t *turn) run(ctx context.Context, text, earlier string) error {
	defer func() { t.finished = ctx.Err() != nil }()
	if t.s.a.breaks(76) {
		_, _ = t.s.a.call(ctx, "fs/read_text_file", object{"sessionId": t.s.id, "path": t.s.cwd + "/x"})
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if ctx.Err() != nil {
			return nil
		}
		name, rest, _ := strings.Cut(line, " ")
		if err := t.obey(ctx, name, rest, earlier); err != nil {
			return err
		}
	}
	if ctx.Err() == nil && !t.said && !t.s.a.breaks(47) {
		t.say("Hello.")
	}
	if ctx.Err() == nil {
		t.usage()
	}
	return nil
}

func (t *turn) obey(ctx context.Context, name, rest, earlier string) error {
	switch name {
	case "!say":
		t.say(rest)
	case "!recall":
		t.say(earlier)
	case "!think":
		if t.s.a.breaks(57) {
			t.say(rest)
			return nil
		}
		t.s.show(object{"sessionUpdate": "agent_thought_chunk", "content": textBlock(rest)})
	case "!slow":
		t.slow(ctx, rest)
	case "!plan":
		t.plan()
	case "!status":
		code := -32603
		if rest == "401" {
			code = -32000
		}
		t.said = true
		return failure{code, "the model answered " + rest}
	case "!finish":
		t.say("cut")
		t.reason = map[string]string{"length": "max_tokens", "content_filter": "refusal"}[rest]
	case "!loop":
		for {
			if t.calls >= t.s.a.opt.MaxSteps || ctx.Err() != nil {
				return errMaxSteps
			}
			t.callTool(ctx, "!command", "true")
		}
	case "!command", "!read", "!write", "!edit", "!mcp":
		t.callTool(ctx, name, rest)
	}
	return nil
}

func (t *turn) say(text string) {
	if t.s.a.breaks(47) {
		return
	}
	t.said = true
	t.chunks++
	id := fmt.Sprintf("message-%d-%d", t.number, t.calls)
	if t.s.a.breaks(56) {
		id += "-" + strconv.Itoa(t.chunks)
	}
	t.s.show(object{"sessionUpdate": "agent_message_chunk", "content": textBlock(text), "messageId": id})
}

func (t *turn) slow(ctx context.Context, seconds string) {
	d, _ := strconv.ParseFloat(seconds, 64)
	for end := time.Now().Add(time.Duration(d * float64(time.Second))); time.Now().Before(end); {
		t.say("tick ")
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (t *turn) plan() {
	for _, states := range [][2]string{{"in_progress", "pending"}, {"completed", "in_progress"}} {
		var entries []any
		for i, word := range []string{"look", "leap"} {
			e := object{"content": word, "priority": "medium", "status": states[i]}
			if t.s.a.breaks(79) {
				delete(e, "priority")
			}
			entries = append(entries, e)
		}
		t.s.show(object{"sessionUpdate": "plan", "entries": entries})
	}
}

func (t *turn) usage() {
	used := 10
	if t.s.a.breaks(58) {
		used = 2000
	}
	t.s.update(object{"sessionUpdate": "usage_update", "used": used, "size": 1000})
}
