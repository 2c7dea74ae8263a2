// Package testagent is an ACP agent that does what its prompts say, for the
// tests of the conformance kit. It keeps every rule of the checklist, except the
// one whose number it is given: so each check can be seen to fail.
package testagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options of an agent.
type Options struct {
	// Break is the item of the checklist that the agent breaks; 0 breaks none.
	Break int
	// Home is where it keeps sessions and, in the file "key", its key.
	Home string
	// NeedsKey makes it want that key.
	NeedsKey bool
	// MaxSteps limits the calls of one turn; 0 means 1000.
	MaxSteps int
}

type object = map[string]any

type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   json.RawMessage
}

type agent struct {
	opt   Options
	outMu sync.Mutex
	out   io.Writer
	work  sync.WaitGroup

	mu       sync.Mutex
	ready    bool
	fs, term bool
	loggedIn bool
	sessions map[string]*session
	last     string // the session opened last
	count    int
	asked    map[string]chan message
	nextAsk  int
	requests map[string]context.CancelFunc // running prompts by request id
}

// Serve runs an agent until its input ends.
func Serve(in io.Reader, out io.Writer, opt Options) error {
	if opt.MaxSteps == 0 {
		opt.MaxSteps = 1000
	}
	a := &agent{opt: opt, out: out, sessions: map[string]*session{}, asked: map[string]chan message{}, requests: map[string]context.CancelFunc{}}
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if a.breaks(8) && bytes.HasSuffix(line, []byte("\r\n")) {
			line = []byte("{bad\n")
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && !(a.breaks(10) && len(text) > 1<<20) {
			if !a.take(text) {
				return nil
			}
		}
		if err != nil {
			break
		}
	}
	if a.breaks(9) {
		time.Sleep(time.Hour)
	}
	a.mu.Lock()
	for _, s := range a.sessions {
		s.close()
	}
	a.mu.Unlock()
	a.work.Wait()
	return nil
}

func (a *agent) breaks(item int) bool { return a.opt.Break == item }

func (a *agent) send(m object) {
	m["jsonrpc"] = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // plain data
	a.outMu.Lock()
	defer a.outMu.Unlock()
	_, _ = a.out.Write(b.Bytes()) // a client that is gone shows at the input
}

func (a *agent) reply(id json.RawMessage, result any) { a.send(object{"id": id, "result": result}) }

func (a *agent) fail(id json.RawMessage, code int, text string) {
	a.send(object{"id": id, "error": object{"code": code, "message": text}})
}

var null = json.RawMessage("null")

// take handles a line; false ends the agent.
func (a *agent) take(line []byte) bool {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		var shape object
		switch {
		case json.Unmarshal(line, &shape) == nil:
			a.fail(null, -32600, "invalid request")
		case !a.breaks(2):
			a.fail(null, -32700, "parse error")
		}
		return !a.breaks(3) || shape == nil
	}
	switch {
	case m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil):
		a.answered(m)
	case m.Method == "":
		a.fail(null, -32600, "invalid request")
		return !a.breaks(3)
	case m.ID == nil:
		a.notified(m)
	default:
		return a.request(m)
	}
	return true
}

func (a *agent) answered(m message) {
	a.mu.Lock()
	ch := a.asked[string(m.ID)]
	delete(a.asked, string(m.ID))
	a.mu.Unlock()
	switch {
	case ch != nil:
		ch <- m
	case a.breaks(4):
		a.fail(m.ID, -32600, "nobody asked")
	}
}

func (a *agent) notified(m message) {
	var p struct {
		SessionID string
		RequestID json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "session/cancel":
		a.cancel(p.SessionID)
	case "$/cancel_request":
		a.mu.Lock()
		stop := a.requests[string(p.RequestID)]
		a.mu.Unlock()
		if stop != nil && !a.breaks(66) {
			stop()
		}
	default:
		if a.breaks(7) {
			a.fail(null, -32601, "unknown notification")
		}
	}
}

func (a *agent) cancel(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if a.breaks(61) && (s == nil || s.stop == nil) {
		a.fail(null, -32600, "nothing to cancel")
	}
	if a.breaks(59) || s == nil {
		return
	}
	if s.stop != nil {
		s.cancelled = true
		s.stop()
	}
	if a.breaks(63) {
		for _, other := range a.sessions {
			if other.stop != nil {
				other.stop()
			}
		}
	}
}

// request serves one request; false ends the agent.
func (a *agent) request(m message) bool {
	a.mu.Lock()
	ready := a.ready
	a.mu.Unlock()
	if !ready && m.Method != "initialize" && !a.breaks(21) {
		a.fail(m.ID, -32600, "initialize first")
		return true
	}
	switch m.Method {
	case "initialize":
		return a.initialize(m)
	case "authenticate":
		a.authenticate(m)
	case "logout":
		a.mu.Lock()
		a.loggedIn = a.breaks(27)
		a.mu.Unlock()
		a.reply(m.ID, object{})
	case "session/new":
		a.newSession(m)
	case "session/load", "session/resume":
		a.openAgain(m, m.Method == "session/load")
	case "session/list":
		a.list(m)
	case "session/delete":
		a.remove(m)
	case "session/close":
		a.closeSession(m)
	case "session/prompt":
		a.prompt(m)
	case "session/set_mode", "session/set_config_option":
		a.set(m)
	case "_conformance/id":
		id := m.ID
		if a.breaks(5) {
			id = json.RawMessage(strconv.Quote(string(bytes.Trim(id, `"`))))
		}
		a.fail(id, -32601, "unknown method")
	default:
		if a.breaks(6) {
			a.reply(m.ID, object{})
		} else {
			a.fail(m.ID, -32601, "unknown method")
		}
	}
	return true
}

func (a *agent) initialize(m message) bool {
	var p struct {
		ProtocolVersion    json.RawMessage
		ClientCapabilities *struct {
			FS       struct{ ReadTextFile, WriteTextFile bool }
			Terminal bool
			Auth     struct{ Terminal bool }
		}
		Capabilities json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &p)
	version, err := strconv.Atoi(string(p.ProtocolVersion))
	a.mu.Lock()
	again := a.ready
	a.mu.Unlock()
	switch {
	case err != nil && !a.breaks(16), a.breaks(14) && version > 2, a.breaks(15) && p.Capabilities != nil, a.breaks(17) && p.ClientCapabilities == nil:
		a.fail(m.ID, -32602, "invalid params")
		return true
	case a.breaks(22) && again:
		return false
	}
	if a.breaks(1) {
		_, _ = io.WriteString(a.out, "starting up\n")
	}
	terminalLogin := a.breaks(23)
	a.mu.Lock()
	a.ready = true
	if c := p.ClientCapabilities; c != nil {
		a.fs, a.term = c.FS.ReadTextFile && c.FS.WriteTextFile, c.Terminal
		terminalLogin = terminalLogin || c.Auth.Terminal
	}
	a.mu.Unlock()
	methods := []any{}
	if a.opt.NeedsKey {
		methods = append(methods, object{"id": "key", "name": "A key"})
		if terminalLogin {
			methods = append(methods, object{"type": "terminal", "id": "login", "name": "Log in", "args": []string{"login"}})
		}
	}
	r := object{
		"protocolVersion": 1, "authMethods": methods, "agentInfo": object{"name": "testagent", "version": "1"},
		"agentCapabilities": object{
			"loadSession": true, "promptCapabilities": object{"image": true, "embeddedContext": true},
			"mcpCapabilities": object{"http": true}, "auth": object{"logout": object{}},
			"sessionCapabilities": object{"list": object{}, "resume": object{}, "delete": object{}, "close": object{}, "additionalDirectories": object{}},
		},
	}
	if a.breaks(13) {
		r["protocolVersion"] = 2
	}
	if a.breaks(19) {
		delete(r, "agentInfo")
	}
	a.reply(m.ID, r)
	return true
}

func (a *agent) authenticate(m message) {
	var p struct{ MethodID string }
	_ = json.Unmarshal(m.Params, &p)
	_, err := os.Stat(filepath.Join(a.opt.Home, "key"))
	switch {
	case p.MethodID != "key" && !a.breaks(25):
		a.fail(m.ID, -32602, "unknown method")
	case p.MethodID == "key" && err != nil:
		a.fail(m.ID, -32000, "there is no key")
	default:
		a.mu.Lock()
		a.loggedIn = !a.breaks(26)
		a.mu.Unlock()
		a.reply(m.ID, object{})
	}
}

// setup are the parameters of the methods that open a session.
type setup struct {
	SessionID             string
	Cwd                   string
	MCPServers            []mcpServer
	AdditionalDirectories []string
}

// checkSetup answers with an error when the parameters are wrong.
func (a *agent) checkSetup(m message) (p setup, ok bool) {
	if a.breaks(18) {
		var members object
		_ = json.Unmarshal(m.Params, &members)
		for name := range members {
			if !slices.Contains([]string{"sessionId", "cwd", "mcpServers", "additionalDirectories"}, name) {
				a.fail(m.ID, -32602, "unknown member "+name)
				return p, false
			}
		}
	}
	if json.Unmarshal(m.Params, &p) != nil || !filepath.IsAbs(p.Cwd) && !a.breaks(29) {
		a.fail(m.ID, -32602, "cwd must be absolute")
		return p, false
	}
	if info, err := os.Stat(p.Cwd); (err != nil || !info.IsDir()) && !a.breaks(30) && !a.breaks(29) {
		a.fail(m.ID, -32602, "the cwd does not exist: "+p.Cwd)
		return p, false
	}
	for _, d := range p.AdditionalDirectories {
		if !filepath.IsAbs(d) && !a.breaks(35) {
			a.fail(m.ID, -32602, "additionalDirectories must be absolute")
			return p, false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opt.NeedsKey && !a.loggedIn {
		code := -32000
		if a.breaks(24) {
			code = -32603
		}
		a.fail(m.ID, code, "no key")
		return p, false
	}
	return p, true
}

func (a *agent) newSession(m message) {
	p, ok := a.checkSetup(m)
	if !ok {
		return
	}
	a.mu.Lock()
	a.count++
	id := fmt.Sprintf("session-%d-%d", os.Getpid(), a.count)
	s := newSession(a, id, p.Cwd)
	a.sessions[id], a.last = s, id
	a.mu.Unlock()
	if err := s.connect(p.MCPServers); err != nil && a.breaks(32) {
		a.fail(m.ID, -32603, err.Error())
		return
	}
	if a.breaks(28) {
		s.announce()
	}
	r := s.state()
	r["sessionId"] = id
	a.reply(m.ID, r)
	if !a.breaks(28) {
		s.announce()
	}
	if a.breaks(83) {
		s.update(object{"sessionUpdate": "notice", "severity": "info", "title": "hello"})
	}
}

func (a *agent) find(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

func (a *agent) openAgain(m message, replay bool) {
	p, ok := a.checkSetup(m)
	if !ok {
		return
	}
	open := a.find(p.SessionID)
	if open != nil && a.breaks(39) {
		open.copies++
		a.reply(m.ID, open.state())
		return
	}
	if open != nil {
		a.fail(m.ID, -32600, "the session is open")
		return
	}
	s, err := restore(a, p.SessionID)
	if err != nil {
		code := -32002
		if a.breaks(38) {
			code = -32603
		}
		a.fail(m.ID, code, "no such session")
		return
	}
	a.mu.Lock()
	a.sessions[p.SessionID], a.last = s, p.SessionID
	a.mu.Unlock()
	_ = s.connect(p.MCPServers)
	replay = replay || a.breaks(40)
	if replay && !a.breaks(37) {
		s.replay()
	}
	a.reply(m.ID, s.state())
	if a.breaks(37) {
		s.replay()
	}
	s.announce()
}

func (a *agent) list(m message) {
	var p struct{ Cwd, Cursor string }
	_ = json.Unmarshal(m.Params, &p)
	const pageSize = 1
	first, err := strconv.Atoi("0" + p.Cursor)
	if err != nil && !a.breaks(41) {
		a.fail(m.ID, -32602, "bad cursor")
		return
	}
	all := []any{}
	for _, st := range stored(a) {
		if p.Cwd == "" || st.Cwd == p.Cwd {
			all = append(all, object{"sessionId": st.ID, "cwd": st.Cwd})
		}
	}
	first = min(first, len(all))
	r := object{"sessions": all[first:min(first+pageSize, len(all))]}
	if first+pageSize < len(all) {
		r["nextCursor"] = strconv.Itoa(first + pageSize)
	}
	a.reply(m.ID, r)
}

func sessionID(m message) string {
	var p struct{ SessionID string }
	_ = json.Unmarshal(m.Params, &p)
	return p.SessionID
}

func (a *agent) remove(m message) {
	if a.breaks(20) {
		a.fail(m.ID, -32601, "unknown method")
		return
	}
	id := sessionID(m)
	a.mu.Lock()
	delete(a.sessions, id)
	a.mu.Unlock()
	if err := os.Remove(storePath(a, id)); err != nil && a.breaks(42) {
		a.fail(m.ID, -32002, "no such session")
		return
	}
	a.reply(m.ID, object{})
}

func (a *agent) closeSession(m message) {
	s := a.find(sessionID(m))
	if s == nil {
		a.fail(m.ID, -32002, "no such session")
		return
	}
	if !a.breaks(43) {
		a.mu.Lock()
		delete(a.sessions, s.id)
		a.mu.Unlock()
		s.close()
		s.turns.Wait()
	}
	a.reply(m.ID, object{})
}

func (a *agent) set(m message) {
	var p struct{ SessionID, ModeID, ConfigID, Value string }
	_ = json.Unmarshal(m.Params, &p)
	s := a.find(p.SessionID)
	if s == nil {
		a.fail(m.ID, -32002, "no such session")
		return
	}
	mode := p.ModeID
	if m.Method == "session/set_config_option" {
		mode = p.Value
		if p.ConfigID != "mode" && !a.breaks(81) {
			a.fail(m.ID, -32602, "unknown option")
			return
		}
	}
	if !slices.Contains(modes, mode) && !a.breaks(81) {
		a.fail(m.ID, -32602, "unknown value")
		return
	}
	a.mu.Lock()
	s.mode = mode
	a.mu.Unlock()
	if m.Method == "session/set_mode" {
		a.reply(m.ID, object{})
	} else {
		a.reply(m.ID, object{"configOptions": s.options()})
	}
	s.update(object{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	s.update(object{"sessionUpdate": "config_option_update", "configOptions": s.options()})
}

// call asks the client something. When ctx ends, so does the waiting.
func (a *agent) call(ctx context.Context, method string, params object) (message, error) {
	ch := make(chan message, 1)
	a.mu.Lock()
	id := strconv.Itoa(a.nextAsk)
	a.nextAsk++
	a.asked[id] = ch
	a.mu.Unlock()
	a.send(object{"id": json.RawMessage(id), "method": method, "params": params})
	select {
	case m := <-ch:
		if m.Error != nil {
			return m, fmt.Errorf("%s", m.Error)
		}
		return m, nil
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}
