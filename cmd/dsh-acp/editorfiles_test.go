package main

import (
	"log/slog"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
	"github.com/dsh-acp/dsh-acp/internal/tools/fs"
)

type loggedAgent struct {
	id  string
	log *session.Log
}

func (a loggedAgent) AgentID() string        { return a.id }
func (a loggedAgent) Scope() *registry.Scope { return nil }
func (a loggedAgent) Log() *session.Log      { return a.log }

// A session that another one started reads and writes where that one does, and
// so do those that it starts itself; all are forgotten together.
func TestChildSessionsShareTheEditor(t *testing.T) {
	store := session.NewStore(t.TempDir(), session.Options{Logger: slog.New(slog.DiscardHandler)})
	agentOf := func(id, parent string) loggedAgent {
		log, err := store.Create(session.Header{ID: id, Cwd: t.TempDir(), ParentSession: parent})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		return loggedAgent{log.Header().ID, log}
	}
	root := agentOf("", "")
	child := agentOf("", root.id)
	grandchild := agentOf("", child.id)
	stranger := agentOf("", "")

	files := fs.NewEditor(fs.EditorOptions{})
	e := editors{of: map[string]editorOf{root.id: {files, root.id}}}
	for _, a := range []loggedAgent{root, child, grandchild} {
		if e.fileSystemOf(a) != fs.FileSystem(files) {
			t.Errorf("%s has another file system", a.id)
		}
	}
	if got := e.fileSystemOf(stranger); got != nil {
		t.Errorf("a session of nobody got %v", got)
	}
	e.close(root.id)
	if len(e.of) != 0 {
		t.Errorf("%d agents are remembered", len(e.of))
	}
}
