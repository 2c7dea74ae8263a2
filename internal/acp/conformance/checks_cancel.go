package conformance

import (
	"encoding/json"
	"path/filepath"
	"time"
)

func (c *client) cancel(session string) {
	c.notify("session/cancel", map[string]any{"sessionId": session})
}

// cancelledWithin fails the check unless a prompt is answered with cancelled in
// time.
func (c *client) cancelledWithin(d time.Duration, id string) {
	if _, ok := c.findWithin(c.t.within(d), answerTo(id)); !ok {
		c.t.failf("the prompt is not answered %s after its cancellation", d)
	}
	if reason := c.stop(id); reason != "cancelled" {
		c.t.failf("the prompt ended with %q, not cancelled", reason)
	}
}

var cancelChecks = []Check{
	{59, secCancel, "a cancelled prompt answers cancelled within 1 s", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Slow))
		c.busy(s)
		c.cancel(s)
		c.cancelledWithin(time.Second, id)
	}},
	{60, secCancel, "a cancellation directly behind the prompt finds it", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		for range 5 {
			id := c.ask(s, t.prompt(Slow))
			c.cancel(s)
			c.cancelledWithin(3*time.Second, id)
		}
	}},
	{61, secCancel, "a cancellation with nothing to cancel is met with silence", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		time.Sleep(200 * time.Millisecond)
		before := len(c.all())
		c.cancel(s)
		c.cancel("11111111-2222-4333-8444-555555555555")
		c.alive()
		n := 0
		for _, f := range c.all()[before:] {
			if u, _ := updateOf(f); !aboutOpening(u) {
				n++
			}
		}
		if n != 1 {
			t.failf("%d messages came", n-1)
		}
	}},
	{62, secCancel, "the prompt after a cancelled one works", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Slow))
		c.busy(s)
		c.cancel(s)
		c.wait(id)
		c.turn(s, t.prompt(Hello))
	}},
	{63, secCancel, "cancelling one session leaves another alone", func(t *T) {
		c, _ := t.open(start{})
		a, _ := c.session("")
		b, _ := c.session("")
		one, two := c.ask(a, t.prompt(Slow)), c.ask(b, t.prompt(Slow))
		c.busy(a)
		c.busy(b)
		c.cancel(b)
		c.wait(two)
		if _, ended := c.findWithin(500*time.Millisecond, answerTo(one)); ended {
			t.failf("the other session's prompt ended too")
		}
	}},
	{64, secCancel, "cancelling a running command kills its processes and ends its call failed, before the answer", func(t *T) {
		c, _ := t.open(start{})
		s, dir := c.session("")
		id := c.ask(s, t.prompt(Command, "command", longCommand))
		pid := t.waitForPid(dir)
		c.cancel(s)
		if reason := c.stop(id); reason != "cancelled" {
			t.failf("the prompt ended with %q, not cancelled", reason)
		}
		t.wantDead(pid, "the cancellation")
		var before []update
		for _, f := range c.all() {
			if answerTo(id)(f) {
				break
			}
			if u, sid := updateOf(f); sid == s {
				before = append(before, u)
			}
		}
		cs := calls(before)
		if len(cs) == 0 || cs[len(cs)-1].status() != "failed" {
			t.failf("the call had not ended failed when the prompt was answered: %+v", cs)
		}
	}},
	{65, secCancel, "cancelling while permission is asked: cancelled, and a late yes does nothing", func(t *T) {
		asked := make(chan frame, 8)
		c, _ := t.open(start{handle: map[string]handler{"session/request_permission": func(_ *client, f frame) (any, *rpcError, bool) {
			asked <- f
			return nil, nil, false
		}}})
		for _, late := range []bool{false, true} {
			s, dir := c.session("")
			id := c.ask(s, t.guarded(dir))
			f := t.question(c, asked, id)
			c.cancel(s)
			if !late {
				c.reply(f, cancelledOutcome(), nil)
			} else {
				c.reply(f, choose("allow_once")(f), nil)
			}
			if reason := c.stop(id); reason != "cancelled" {
				t.failf("the prompt ended with %q, not cancelled", reason)
			}
			t.notDone(dir, "the cancelled question")
		}
	}},
	{66, secCancel, "$/cancel_request of the prompt ends it: cancelled or -32800", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Slow))
		c.busy(s)
		c.notify("$/cancel_request", map[string]any{"requestId": json.RawMessage(id)})
		f, ok := c.findWithin(t.within(3*time.Second), answerTo(id))
		if !ok {
			t.failf("the prompt is not answered 3 s after $/cancel_request")
		}
		if f.Error != nil {
			t.wantError(f, "the prompt", -32800)
		} else if reason := c.stop(id); reason != "cancelled" {
			t.failf("the prompt ended with %q, not cancelled", reason)
		}
	}},
}

// aboutOpening reports whether an update may follow the answer that opened a
// session, whenever it comes.
func aboutOpening(u update) bool {
	switch u.Kind {
	case "available_commands_update", "current_mode_update", "config_option_update", "usage_update", "session_info_update", "notice":
		return true
	}
	return false
}

// guarded is a prompt that makes the agent ask for permission before it leaves
// guarded.txt in a folder.
func (t *T) guarded(dir string) string {
	if t.profile.has(Write) {
		return t.prompt(Write, "path", filepath.Join(dir, "guarded.txt"), "content", "done")
	}
	return t.prompt(Command, "command", "echo done > guarded.txt")
}

// question waits for a permission request of a turn; an agent that does not ask
// skips the check.
func (t *T) question(c *client, asked <-chan frame, id string) frame {
	ended := make(chan struct{})
	go func() { defer close(ended); c.findWithin(t.timeout(), answerTo(id)) }()
	select {
	case f := <-asked:
		return f
	case <-ended:
	}
	select {
	case f := <-asked:
		return f
	default:
		t.skipf("the agent did not ask for permission")
		return frame{}
	}
}

func (t *T) notDone(dir, after string) {
	time.Sleep(200 * time.Millisecond)
	if t.readFile(filepath.Join(dir, "guarded.txt")) != "" {
		t.failf("the call was executed after %s", after)
	}
}
