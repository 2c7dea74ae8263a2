package main

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/fs"
)

type namedAgent string

func (a namedAgent) AgentID() string      { return string(a) }
func (namedAgent) Scope() *registry.Scope { return nil }

// A session that another one started reads and writes where that one does, and
// so do those that it starts itself, whether it has looked at a file or not. All
// are forgotten when they end.
func TestChildSessionsShareTheEditor(t *testing.T) {
	files := fs.NewEditor(fs.EditorOptions{})
	a := &app{}
	a.editors.of = map[string]editorOf{"root": {files, "root"}}
	scope := func(id string) *registry.Scope {
		reg, err := registry.New(registry.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return reg.Global().Child(id)
	}
	a.subagentOpened("root", "child", scope("child"), false)
	a.subagentOpened("child", "grandchild", scope("grandchild"), false)
	for _, id := range []namedAgent{"grandchild", "child", "root"} {
		if a.editors.fileSystemOf(id) != fs.FileSystem(files) {
			t.Errorf("%s has another file system", id)
		}
	}
	if got := a.editors.fileSystemOf(namedAgent("stranger")); got != nil {
		t.Errorf("a session of nobody got %v", got)
	}
	a.editors.close("grandchild")
	if len(a.editors.of) != 2 {
		t.Errorf("%d agents are remembered", len(a.editors.of))
	}
	a.editors.close("root")
	if len(a.editors.of) != 0 {
		t.Errorf("%d agents are remembered", len(a.editors.of))
	}
}
