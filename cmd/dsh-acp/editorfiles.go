package main

import (
	"log/slog"
	"maps"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/registry"
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

// close forgets a session, which may be one that another one started, and those
// that it started itself.
func (e *editors) close(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.of, func(agent string, f editorOf) bool { return f.owner == id || agent == id })
}

// share gives a session that another one starts the file system of that one.
func (e *editors) share(parent, child string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f, ok := e.of[parent]; ok {
		e.of[child] = f
	}
}

// fileSystemOf finds the file system of an agent. nil means the disk.
func (e *editors) fileSystemOf(a registry.Agent) fs.FileSystem {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f, ok := e.of[a.AgentID()]; ok {
		return f.files
	}
	return nil
}
