package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var transportChecks = []Check{
	{2, secTransport, "a line that is no JSON answers -32700 with id null, and the connection lives", func(t *T) {
		c, _ := t.open(start{})
		c.raw("{bad\n")
		f := c.find("the answer to a line that is no JSON", func(f frame) bool { return f.Method == "" && string(f.ID) == "null" })
		t.wantError(f, "a line that is no JSON", -32700)
		c.alive()
	}},
	{3, secTransport, "an object that is no message answers -32600 or nothing, and the connection lives", func(t *T) {
		c, _ := t.open(start{})
		c.raw(`{"jsonrpc":"2.0"}` + "\n" + `{"jsonrpc":"2.0","id":"odd"}` + "\n" + `{"jsonrpc":"2.0","id":"odder","method":7}` + "\n")
		c.alive()
		for _, f := range c.all() {
			if id := string(f.ID); f.Method == "" && (id == "null" || strings.HasPrefix(id, `"odd`)) {
				t.wantError(f, "an object that is no message", -32600)
			}
		}
	}},
	{4, secTransport, "a stray answer is ignored", func(t *T) {
		c, _ := t.open(start{})
		before := len(c.all())
		c.raw(`{"jsonrpc":"2.0","id":4242,"result":{}}` + "\n")
		c.alive()
		if fs := c.all()[before:]; len(fs) != 1 {
			t.failf("a stray answer is answered: %d messages came", len(fs)-1)
		}
	}},
	{5, secTransport, "ids are echoed with their type", func(t *T) {
		c, _ := t.open(start{})
		for _, id := range []string{`"9f0c1e62-uuid"`, "9007199254740991", "0", `"7"`} {
			c.requestAs(id, "_conformance/id", map[string]any{})
			c.find("an answer with the id "+id, answerTo(id))
		}
	}},
	{6, secTransport, "an unknown method answers -32601", func(t *T) {
		c, _ := t.open(start{})
		for _, m := range []string{"no/such", "_conformance.example/x"} {
			t.wantError(c.call(m, map[string]any{}), m, -32601)
		}
	}},
	{7, secTransport, "an unknown notification is ignored", func(t *T) {
		c, _ := t.open(start{})
		before := len(c.all())
		c.notify("_conformance.example/n", map[string]any{})
		c.notify("no/such", map[string]any{})
		c.notify("$/cancel_request", map[string]any{"requestId": 4242})
		c.alive()
		if fs := c.all()[before:]; len(fs) != 1 {
			t.failf("a notification is answered: %.160s", string(fs[0].ID)+string(fs[0].Result))
		}
	}},
	{8, secTransport, "CRLF, blank lines and characters split across writes work", func(t *T) {
		c := t.launch(start{})
		c.raw("\r\n\n")
		c.mu.Lock()
		c.asked["1"], c.nextID = "initialize", 1
		c.mu.Unlock()
		line := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"é漢","version":"1"}}}` + "\r\n"
		cut := strings.Index(line, "漢") + 1
		c.raw(line[:cut])
		time.Sleep(50 * time.Millisecond)
		c.raw(line[cut:])
		c.must(c.wait("1"), "initialize", nil)
		c.session("")
	}},
	{9, secTransport, "the end of the input ends the agent within 3 s, with 0, and its commands with it", func(t *T) {
		c, _ := t.open(start{})
		c.leaves("idle")
		if t.profile.has(Slow) {
			c, _ = t.open(start{})
			s, _ := c.session("")
			c.ask(s, t.prompt(Slow))
			c.busy(s)
			c.leaves("in a turn")
		}
		if t.profile.has(Command) {
			c, _ = t.open(start{})
			s, dir := c.session("")
			c.ask(s, t.prompt(Command, "command", longCommand))
			pid := t.waitForPid(dir)
			c.leaves("in a command")
			t.wantDead(pid, "the end of the input")
		}
	}},
	{10, secTransport, "a prompt of 10 MB and a long output of a tool stay whole, one line each", func(t *T) {
		prompt := t.prompt(Large, "text", strings.Repeat("All work and no play. ", 10<<20/22))
		c, _ := t.open(start{})
		s, _ := c.session("")
		c.turn(s, prompt)
		if t.profile.has(Command) {
			s, _ := c.session("")
			c.turn(s, t.prompt(Command, "command", "head -c 10000000 /dev/zero | tr '\\0' 'x'"))
			if cs := calls(c.updates(s)); len(cs) == 0 || cs[len(cs)-1].status() != "completed" {
				t.failf("the call with a long output is not completed")
			}
		}
		for _, f := range c.all() {
			if f.size > 10<<20 {
				t.failf("a line of %d bytes: some editors end the connection over more than 10 MiB", f.size)
			}
		}
		c.noFaults()
	}},
	{11, secTransport, "two sessions that run at once do not mix", func(t *T) {
		c, _ := t.open(start{})
		a, _ := c.session("")
		b, _ := c.session("")
		one, two := c.ask(a, t.prompt(Echo, "text", "aardvark")), c.ask(b, t.prompt(Echo, "text", "buffalo"))
		c.stop(one)
		c.stop(two)
		if ma, mb := c.message(a), c.message(b); !strings.Contains(ma, "aardvark") || strings.Contains(ma, "buffalo") || !strings.Contains(mb, "buffalo") || strings.Contains(mb, "aardvark") {
			t.failf("the first session shows %.60q, the second %.60q", ma, mb)
		}
		c.noFaults()
	}},
	{12, secTransport, "session/new is answered while a prompt runs", func(t *T) {
		c, _ := t.open(start{})
		s, _ := c.session("")
		id := c.ask(s, t.prompt(Slow))
		c.busy(s)
		c.session("")
		if _, ended := c.findWithin(0, answerTo(id)); ended {
			t.failf("session/new was answered only when the prompt had ended")
		}
	}},
}

// leaves closes the agent's input and waits for its end.
func (c *client) leaves(when string) {
	begin := time.Now()
	_ = c.in.Close()
	select {
	case <-c.exited:
	case <-time.After(c.t.within(3*time.Second + 200*time.Millisecond)):
		c.t.failf("%s: the agent still runs 3 s after its input ended", when)
	}
	if c.exitCode != 0 {
		c.t.failf("%s: the agent left with exit code %d, %s after its input ended", when, c.exitCode, time.Since(begin).Round(time.Millisecond))
	}
}

func (c *client) noFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		c.t.failf("%s", c.faults[0])
	}
}

// longCommand says who it is and goes on for a minute, in a child of its own.
const longCommand = `sh -c 'echo $$ > conformance.pid; sleep 60; echo late > conformance.late'; echo ended`

// waitForPid waits for the command's process.
func (t *T) waitForPid(dir string) int {
	for end := time.Now().Add(t.timeout()); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, "conformance.pid"))
		if err != nil || !strings.HasSuffix(string(data), "\n") {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			return pid
		}
	}
	t.failf("the command did not start in the session's folder")
	return 0
}

func (t *T) wantDead(pid int, after string) {
	for end := time.Now().Add(t.within(3 * time.Second)); running(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.failf("the command's process still runs 3 s after %s", after)
		}
	}
}

var messageChecks = []Check{
	{1, secTransport, "stdout carries JSON-RPC messages only", noneAmong(func(s *suite) []string { return s.faults })},
	{84, secClient, "every message is valid by the published schema", noneAmong(func(s *suite) []string { return s.invalid })},
	{85, secClient, "no member beside those of the protocol, except under _meta", noneAmong(func(s *suite) []string { return s.unknown })},
}

// noneAmong checks that a list of complaints about all messages is empty.
func noneAmong(complaints func(*suite) []string) func(*T) {
	return func(t *T) {
		t.suite.haveMessages(t)
		t.suite.mu.Lock()
		defer t.suite.mu.Unlock()
		if list := complaints(t.suite); len(list) > 0 {
			t.failf("%s%s", list[0], andMore(len(list)))
		}
	}
}

func andMore(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n-1)
}

// haveMessages makes sure that there is something to judge when a check of all
// messages runs alone.
func (s *suite) haveMessages(t *T) {
	s.mu.Lock()
	n := s.messages
	s.mu.Unlock()
	if n > 0 {
		return
	}
	c, _ := t.open(start{})
	session, _ := c.session("")
	c.turn(session, t.prompt(Hello))
	for _, p := range []Purpose{Command, Write, Plan, Think} {
		if t.profile.has(p) {
			session, dir := c.session("")
			c.turn(session, t.prompt(p, "command", "echo hello", "path", filepath.Join(dir, "a.txt"), "content", "hello", "text", "hm"))
		}
	}
}
