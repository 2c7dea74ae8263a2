package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	id    string
	scope *registry.Scope
}

func (a agent) AgentID() string        { return a.id }
func (a agent) Scope() *registry.Scope { return a.scope }

// world is a session's scope with tools that do nothing.
type world struct {
	t     testing.TB
	ws    *Workspace
	pipe  *pipeline.Pipeline
	scope *registry.Scope
	log   *bytes.Buffer
}

var opened = time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)

func newWorld(t testing.TB, cwd string) *world {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range touches {
		if _, err := reg.Global().Register(idle(name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reg.Global().Register(idle("other")); err != nil {
		t.Fatal(err)
	}
	pipe, err := pipeline.New(reg, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, pipe: pipe, scope: reg.Global().Child("s"), log: &bytes.Buffer{}}
	w.ws = New(Options{Agent: "s", Cwd: cwd, Opened: opened, Logger: slog.New(slog.NewTextHandler(w.log, nil))})
	if err := w.ws.Install(w.scope, pipe); err != nil {
		t.Fatal(err)
	}
	return w
}

// idle is a tool that does nothing, or fails when its argument "fail" is there.
func idle(name string) registry.Definition {
	schema := jsonvalue.MustFromGo(map[string]any{"type": "object"})
	return registry.Definition{
		Name: name, Description: name, RawParameters: schema,
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "null"}),
			Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return []content.Block{content.Text("done")}, nil },
		},
		Execute: func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
			if args.GetString("fail") != "" {
				return jsonvalue.Value{}, os.ErrPermission
			}
			return jsonvalue.Null(), nil
		},
	}
}

func (w *world) callAs(id, tool string, args map[string]string) []registry.Context {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.pipe.Execute(context.Background(), pipeline.Call{ID: "c", Name: tool, RawArguments: string(raw), Agent: agent{id, w.scope}})
	if r.IsError() != (args["fail"] != "") {
		w.t.Fatalf("%s: %s", tool, r.Text())
	}
	return r.Contexts()
}

func (w *world) call(tool, key, path string) []registry.Context {
	w.t.Helper()
	return w.callAs("s", tool, map[string]string{key: path})
}

func (w *world) prompt() string {
	w.t.Helper()
	p, err := w.scope.Assemble(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return p.System
}

// instructionsSection is the section alone.
func (w *world) instructionsSection() string {
	w.t.Helper()
	s, err := w.ws.instructions(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// project is a folder, with links resolved, that is a project.
func project(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".dsh-project"), "")
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// labels are the files that contexts announce.
func labels(cs []registry.Context) []string {
	out := []string{}
	for _, c := range cs {
		for _, change := range c.Meta.Get("changes").Elements() {
			out = append(out, change.GetString("path"))
		}
	}
	return out
}
