package testagent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

var modes = []string{"code", "ask"}

// session is one conversation. Its fields that change are guarded by the
// agent's mutex.
type session struct {
	a      *agent
	id     string
	cwd    string
	mode   string
	copies int // how often each update is sent
	log    []json.RawMessage
	said   []string // by the user
	always bool     // everything is allowed
	mcp    map[string]*mcpClient

	turns     sync.WaitGroup
	running   sync.Mutex // one turn at a time
	stop      context.CancelFunc
	cancelled bool
	closed    bool
	prompts   int
}

func newSession(a *agent, id, cwd string) *session {
	return &session{a: a, id: id, cwd: cwd, mode: "code", copies: 1, mcp: map[string]*mcpClient{}}
}

// close cancels what runs; the caller does not hold the session's turn.
func (s *session) close() {
	s.closed = true
	if s.stop != nil {
		s.cancelled = true
		s.stop()
	}
	for _, c := range s.mcp {
		c.close()
	}
}

func (s *session) options() []any {
	var values []any
	for _, m := range modes {
		values = append(values, object{"value": m, "name": m})
	}
	list := []any{object{"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": s.mode, "options": values}}
	if s.a.breaks(82) {
		list = append(list, object{"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true})
	}
	return list
}

func (s *session) state() object {
	var available []any
	for _, m := range modes {
		available = append(available, object{"id": m, "name": m})
	}
	current := s.mode
	if s.a.breaks(36) {
		current = "nowhere"
	}
	return object{"modes": object{"currentModeId": current, "availableModes": available}, "configOptions": s.options()}
}

func (s *session) announce() {
	name := "hello"
	if s.a.breaks(80) {
		name = "/hello"
	}
	s.update(object{"sessionUpdate": "available_commands_update", "availableCommands": []any{object{"name": name, "description": "Say hello"}}})
}

// update shows something; show also keeps it for later.
func (s *session) update(u object) {
	id := s.id
	s.a.mu.Lock()
	if s.a.breaks(11) {
		id = s.a.last
	}
	copies := s.copies
	s.a.mu.Unlock()
	if s.a.breaks(85) {
		u["conformance"] = true
	}
	for range copies {
		s.a.send(object{"method": "session/update", "params": object{"sessionId": id, "update": u}})
	}
}

func (s *session) show(u object) {
	s.keep(u)
	s.update(u)
}

func (s *session) keep(u object) {
	b, _ := json.Marshal(u) // plain data
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	s.log = append(s.log, b)
}

func (s *session) replay() {
	for _, raw := range s.log {
		var u object
		if json.Unmarshal(raw, &u) == nil {
			s.update(u)
		}
	}
}

// kept is what outlasts the process.
type kept struct {
	ID, Cwd string
	Log     []json.RawMessage
	Said    []string
}

func storePath(a *agent, id string) string {
	return filepath.Join(a.opt.Home, "session-"+strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, id)+".json")
}

func (s *session) save() {
	if s.a.breaks(44) {
		return
	}
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	b, _ := json.Marshal(kept{s.id, s.cwd, s.log, s.said}) // plain data
	_ = os.WriteFile(storePath(s.a, s.id), b, 0o600)       // then it is not there again
}

func restore(a *agent, id string) (*session, error) {
	b, err := os.ReadFile(storePath(a, id))
	if err != nil {
		return nil, err
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil {
		return nil, err
	}
	s := newSession(a, k.ID, k.Cwd)
	s.log, s.said = k.Log, k.Said
	return s, nil
}

func stored(a *agent) []kept {
	files, _ := filepath.Glob(filepath.Join(a.opt.Home, "session-*.json"))
	slices.Sort(files)
	var all []kept
	for _, f := range files {
		b, err := os.ReadFile(f)
		var k kept
		if err == nil && json.Unmarshal(b, &k) == nil {
			all = append(all, k)
		}
	}
	return all
}
