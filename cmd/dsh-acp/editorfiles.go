package main

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/fs"
)

// editors are the file systems of the sessions whose client takes part in
// reading and writing files. The zero value is ready.
type editors struct {
	mu sync.Mutex
	of map[string]editorOf // by the agent's id
}

// editorOf is an agent's file system, and the session of the client that it
// came with.
type editorOf struct {
	files *fs.Editor
	owner string
}

// open gives a session its client's files. It does nothing for a client that
// does not let them be read: what cannot be seen would be overwritten.
func (e *editors) open(id string, p acp.SessionParams, logger *slog.Logger) {
	files := p.Editor.ForSession(id)
	if !files.Reads() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]editorOf{}
	}
	e.of[id] = editorOf{fs.NewEditor(fs.EditorOptions{Buffers: files, Roots: append([]string{p.Cwd}, p.AdditionalDirectories...), Logger: logger}), id}
}

// close forgets a session and those that it started.
func (e *editors) close(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.of, func(_ string, f editorOf) bool { return f.owner == id })
}

// fileSystemOf finds the file system of an agent: that of its session, which a
// session shares with those that it starts. nil means the disk.
func (e *editors) fileSystemOf(a registry.Agent) fs.FileSystem {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.of[a.AgentID()]
	if !ok {
		s, logged := a.(interface{ Log() *session.Log })
		if !logged {
			return nil
		}
		parent := s.Log().Header().ParentSession
		if f, ok = e.of[parent]; !ok || parent == "" {
			return nil
		}
		e.of[a.AgentID()] = f // for those that this one starts
	}
	return f.files
}
