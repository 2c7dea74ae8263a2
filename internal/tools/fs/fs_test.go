package fs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

type agent struct {
	scope   *registry.Scope
	id, cwd string
}

func (a *agent) AgentID() string        { return a.id }
func (a *agent) Scope() *registry.Scope { return a.scope }
func (a *agent) Cwd() string            { return a.cwd }

type fakeRun struct{ exec *registry.Execution }

func (r fakeRun) Execution() *registry.Execution     { return r.exec }
func (r fakeRun) DeferContext(registry.Context)      {}
func (r fakeRun) ConcludeTurn()                      {}
func (r fakeRun) Emit(string, jsonvalue.Value) error { return errors.New("no session") }
func (r fakeRun) Output([]byte)                      {}

// fixture calls the tools as the pipeline does: arguments and values checked.
type fixture struct {
	t     testing.TB
	reg   *registry.Registry
	agent registry.Agent
	dir   string
}

func setup(t testing.TB) *fixture { return setupWith(t, Options{}) }

func setupWith(t testing.TB, opts Options) *fixture {
	t.Helper()
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Register(reg.Global(), opts); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, reg: reg, dir: dir, agent: &agent{scope: reg.Global().Child("s"), id: "a1", cwd: dir}}
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) put(name, data string) string {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(data), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return f.path(name)
}

func (f *fixture) get(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// result is what becomes of one call.
type result struct {
	value, meta jsonvalue.Value
	text        string
	call        *cards.Call
	card        *cards.Result
	err         error
}

func (f *fixture) tool(name string) *registry.Tool {
	tool, ok := f.reg.Global().Get(name)
	if !ok {
		f.t.Fatalf("no tool %s", name)
	}
	return tool
}

func (f *fixture) do(name string, args map[string]any) result {
	f.t.Helper()
	return f.doCtx(context.Background(), name, args)
}

func (f *fixture) doCtx(ctx context.Context, name string, args map[string]any) (r result) {
	f.t.Helper()
	tool := f.tool(name)
	a := jsonvalue.MustFromGo(args)
	if bad := tool.ValidateArgs(a); bad != nil {
		f.t.Fatalf("%s arguments: %v", name, bad)
	}
	exec, err := f.reg.Begin(registry.ExecutionSpec{CallID: "c", Name: name, Arguments: a, Agent: f.agent})
	if err != nil {
		f.t.Fatal(err)
	}
	r.call = tool.PresentCall(a)
	r.value, r.err = tool.Execute(ctx, a, fakeRun{exec})
	if r.err != nil {
		r.text = "Error: " + r.err.Error()
	} else {
		if bad := tool.ValidateOutput(r.value); bad != nil {
			f.t.Fatalf("%s value: %v", name, bad)
		}
		blocks, err := tool.Render(a, r.value)
		if err != nil {
			f.t.Fatal(err)
		}
		r.text = content.JoinText(blocks)
		if r.meta, err = tool.PresentationMeta(a, r.value); err != nil {
			f.t.Fatal(err)
		}
	}
	r.card = tool.PresentResult(a, cards.ResultInput{Content: []content.Block{content.Text(r.text)}, IsError: r.err != nil, Meta: r.meta})
	return r
}

// ok fails the test when the call did.
func (f *fixture) ok(name string, args map[string]any) result {
	f.t.Helper()
	r := f.do(name, args)
	if r.err != nil {
		f.t.Fatalf("%s %v: %v", name, args, r.err)
	}
	return r
}

func (f *fixture) read(name string) result {
	f.t.Helper()
	return f.ok("read", map[string]any{"file_path": name})
}

// fails checks the message, in which DIR stands for the folder, and the code.
func (f *fixture) fails(r result, code, message string) {
	f.t.Helper()
	message = strings.ReplaceAll(message, "DIR", f.dir)
	if r.err == nil || r.err.Error() != message {
		f.t.Errorf("got error %v, want %s", r.err, message)
		return
	}
	var e interface {
		Code() string
		ErrorName() string
	}
	switch {
	case errors.As(r.err, &e):
		if e.Code() != code || e.ErrorName() != "FsError" {
			f.t.Errorf("%v: got code %s %s, want %s", r.err, e.ErrorName(), e.Code(), code)
		}
	case code != "":
		f.t.Errorf("%v: no code, want %s", r.err, code)
	}
}

type m = map[string]any

func str(s string) *string { return &s }

func sameDiffs(got, want []cards.FileDiff) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Path != w.Path || g.NewText != w.NewText || (g.OldText == nil) != (w.OldText == nil) || g.OldText != nil && *g.OldText != *w.OldText {
			return false
		}
	}
	return true
}

// The scenario: an edit before a read is refused, then both work.
func TestReadThenEdit(t *testing.T) {
	f := setup(t)
	f.put("config.txt", "mode=DEBUG\nlevel=info\n")
	edit := m{"file_path": "config.txt", "old_string": "DEBUG", "new_string": "RELEASE"}
	refused := f.do("edit", edit)
	f.fails(refused, CodeNotObserved, `edit requires reading "DIR/config.txt" first`)
	if refused.card != nil {
		t.Errorf("a failed edit has the card %+v", refused.card)
	}
	r := f.read("config.txt")
	if want := "<path>" + f.dir + "/config.txt</path>\n<type>file</type>\n<content>\n1: mode=DEBUG\n2: level=info\n\n(End of file - total 2 lines)\n</content>"; r.text != want {
		t.Errorf("got %q, want %q", r.text, want)
	}
	if c := r.call; c.Card != cards.Generic || c.Kind != cards.KindRead || c.Title != "Read config.txt" || c.Locations[0] != (cards.Location{Path: "config.txt", Line: 1}) {
		t.Errorf("read card %+v", c)
	}
	r = f.ok("edit", edit)
	if want := "The file " + f.dir + "/config.txt has been updated successfully."; r.text != want {
		t.Errorf("got %q, want %q", r.text, want)
	}
	if want := `{"diffs":[{"path":"config.txt","oldText":"mode=DEBUG\nlevel=info","newText":"mode=RELEASE\nlevel=info"}]}`; r.meta.String() != want {
		t.Errorf("meta %s, want %s", r.meta, want)
	}
	if c := r.call; c.Card != cards.Diff || c.Title != "Edit config.txt" || !sameDiffs(c.Diffs, []cards.FileDiff{{Path: "config.txt", OldText: str("DEBUG"), NewText: "RELEASE"}}) || c.Locations[0] != (cards.Location{Path: "config.txt"}) {
		t.Errorf("edit card %+v", c)
	}
	if c := r.card; c.Card != cards.Diff || c.Title != "Edit config.txt" || !sameDiffs(c.Diffs, []cards.FileDiff{{Path: "config.txt", OldText: str("mode=DEBUG\nlevel=info"), NewText: "mode=RELEASE\nlevel=info"}}) {
		t.Errorf("result card %+v", c)
	}
	if got := f.get("config.txt"); got != "mode=RELEASE\nlevel=info\n" {
		t.Errorf("file %q", got)
	}
	// What was edited counts as seen.
	f.ok("edit", m{"file_path": "config.txt", "old_string": "info", "new_string": "warn"})
}

func TestWrite(t *testing.T) {
	f := setup(t)
	r := f.ok("write", m{"file_path": "notes.txt", "content": "hello world"})
	if want := "<path>" + f.dir + "/notes.txt</path>\n<type>file</type>\n<content>\nCreated file\n</content>"; r.text != want {
		t.Errorf("got %q, want %q", r.text, want)
	}
	if r.meta.String() != `{"diffs":[]}` {
		t.Errorf("meta %s", r.meta)
	}
	whole := []cards.FileDiff{{Path: "notes.txt", NewText: "hello world"}}
	if c := r.call; c.Card != cards.Diff || c.Title != "Write notes.txt" || !sameDiffs(c.Diffs, whole) || c.Locations[0].Path != "notes.txt" {
		t.Errorf("call card %+v", c)
	}
	if c := r.card; c.Card != cards.Diff || c.Title != "Write notes.txt" || !sameDiffs(c.Diffs, whole) {
		t.Errorf("result card %+v", c)
	}
	if v := r.value; v.GetString("operation") != "create" || !v.Get("before").IsNull() || v.GetString("after") != "hello world" {
		t.Errorf("value %s", v)
	}
	// It wrote the file, so it may write it again.
	r = f.ok("write", m{"file_path": "notes.txt", "content": "hello\r\nthere\n"})
	if !strings.Contains(r.text, "\nUpdated file\n") {
		t.Errorf("got %q", r.text)
	}
	if v := r.value; v.GetString("operation") != "update" || v.GetString("before") != "hello world" || v.GetString("after") != "hello\nthere\n" {
		t.Errorf("value %s", v)
	}
	if !sameDiffs(r.card.Diffs, []cards.FileDiff{{Path: "notes.txt", OldText: str("hello world"), NewText: "hello\nthere"}}) {
		t.Errorf("card %+v", r.card)
	}
	if got := f.get("notes.txt"); got != "hello\r\nthere\n" {
		t.Errorf("the content was not written byte for byte: %q", got)
	}
	// The same again has no hunks and shows the whole.
	r = f.ok("write", m{"file_path": "notes.txt", "content": "hello\r\nthere\n"})
	if len(r.card.Diffs) != 1 || r.card.Diffs[0].OldText != nil {
		t.Errorf("card %+v", r.card)
	}
	f.ok("write", m{"file_path": "deep/er/new.txt", "content": ""})
	if got := f.get("deep/er/new.txt"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestWriteErrors(t *testing.T) {
	f := setup(t)
	f.put("a.txt", "old\n")
	if err := os.Mkdir(f.path("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string) result { return f.do("write", m{"file_path": name, "content": "x"}) }
	f.fails(write("a.txt"), CodeNotObserved, `cannot overwrite existing "DIR/a.txt" without reading it first`)
	f.read("a.txt")
	f.put("a.txt", "changed\n")
	f.fails(write("a.txt"), CodeStaleVersion, `cannot write "DIR/a.txt": file changed since it was read`)
	if f.get("a.txt") != "changed\n" {
		t.Error("a refused write changed the file")
	}
	f.read("a.txt")
	if err := os.Remove(f.path("a.txt")); err != nil {
		t.Fatal(err)
	}
	f.fails(write("a.txt"), CodeStaleVersion, `cannot write "DIR/a.txt": file no longer exists`)
	f.ok("write", m{"file_path": "a.txt", "content": "now on purpose"})
	f.fails(write("dir"), CodeNotRegularFile, `cannot write "DIR/dir": not a regular file`)
	f.fails(write("a.txt/b"), CodeNotDirectory, `cannot resolve "DIR/a.txt/b": a parent path segment is not a directory`)
	f.fails(write(" "), "", `file_path must be a non-empty string`)
}

func TestEditErrors(t *testing.T) {
	f := setup(t)
	f.put("a.txt", "one two two\n")
	edit := func(name, old, new string) result {
		return f.do("edit", m{"file_path": name, "old_string": old, "new_string": new})
	}
	f.fails(edit("a.txt", "", "x"), "", "old_string must be a non-empty string")
	f.fails(edit("a.txt", "x", "x"), "", "old_string and new_string must differ")
	f.fails(edit("a.txt", "x\r\n", "x\n"), "", "old_string and new_string must differ by more than line endings: an edit keeps those of the file; use write to change them")
	f.fails(edit("", "x", "y"), "", "file_path must be a non-empty string")
	f.fails(edit("none.txt", "x", "y"), CodeNotFound, `cannot edit "DIR/none.txt": not found`)
	f.fails(edit(".", "x", "y"), CodeNotRegularFile, `cannot edit "DIR": not a regular file`)
	f.fails(edit("a.txt", "one", "y"), CodeNotObserved, `edit requires reading "DIR/a.txt" first`)
	f.read("a.txt")
	f.fails(edit("a.txt", "three", "y"), CodeEditNotFound, `old_string was not found in "DIR/a.txt"`)
	f.fails(edit("a.txt", "two", "y"), CodeAmbiguousEdit, `old_string matched 2 times in "DIR/a.txt"; provide a more specific old_string or set replace_all to true`)
	r := f.ok("edit", m{"file_path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": true})
	if want := "The file " + f.dir + "/a.txt has been updated. All occurrences were successfully replaced."; r.text != want || f.get("a.txt") != "one 2 2\n" {
		t.Errorf("got %q, file %q", r.text, f.get("a.txt"))
	}
	f.put("a.txt", "one 2 2 \n")
	f.fails(edit("a.txt", "one", "y"), CodeStaleVersion, `cannot edit "DIR/a.txt": file changed since it was read`)
	f.read("a.txt")
	if err := os.Remove(f.path("a.txt")); err != nil {
		t.Fatal(err)
	}
	f.fails(edit("a.txt", "one", "y"), CodeStaleVersion, `cannot edit "DIR/a.txt": file changed since it was read`)
	// A NUL far behind does not keep it from being read, only from being edited.
	f.put("nul.txt", strings.Repeat("x\n", 5000)+"\x00end")
	f.read("nul.txt")
	f.fails(edit("nul.txt", "end", "y"), CodeNotText, `cannot edit "DIR/nul.txt": binary file`)
}

// A file that was written again with the same bytes, or only touched, did not change.
func TestSameBytesAreNoChange(t *testing.T) {
	f := setup(t)
	f.put("a.txt", "one\n")
	f.read("a.txt")
	if err := os.Remove(f.path("a.txt")); err != nil {
		t.Fatal(err)
	}
	f.put("a.txt", "one\n")
	f.ok("edit", m{"file_path": "a.txt", "old_string": "one", "new_string": "two"})
}

func TestAgentsSeeForThemselves(t *testing.T) {
	seen := &Observations{}
	f := setupWith(t, Options{Observations: seen})
	f.put("a.txt", "one\n")
	f.read("a.txt")
	first := f.agent
	f.agent = &agent{scope: f.reg.Global().Child("t"), id: "a2", cwd: f.dir}
	edit := m{"file_path": "a.txt", "old_string": "one", "new_string": "two"}
	f.fails(f.do("edit", edit), CodeNotObserved, `edit requires reading "DIR/a.txt" first`)
	f.agent = first
	seen.Forget("a1")
	f.fails(f.do("edit", edit), CodeNotObserved, `edit requires reading "DIR/a.txt" first`)
}

func TestParallelEditsOfOneFileAllSurvive(t *testing.T) {
	f := setup(t)
	const n = 20
	var b strings.Builder
	for i := range n {
		b.WriteString("line " + string(rune('a'+i)) + "\n")
	}
	f.put("a.txt", b.String())
	if err := os.Symlink("a.txt", f.path("link")); err != nil {
		t.Fatal(err)
	}
	f.read("a.txt")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := []string{"a.txt", "link", "./x/../a.txt"}[i%3]
			c := string(rune('a' + i))
			if r := f.do("edit", m{"file_path": name, "old_string": "line " + c, "new_string": "done " + c}); r.err != nil {
				t.Errorf("edit %s: %v", c, r.err)
			}
		})
	}
	wg.Wait()
	if got, want := f.get("a.txt"), strings.ReplaceAll(b.String(), "line", "done"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(fileLocks.entries) != 0 {
		t.Errorf("%d locks are left", len(fileLocks.entries))
	}
}

func TestParallelCreationsOfOneFile(t *testing.T) {
	f := setup(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	created := 0
	for i := range 8 {
		wg.Go(func() {
			g := *f
			g.agent = &agent{id: string(rune('a' + i)), cwd: f.dir}
			r := g.do("write", m{"file_path": "new/file.txt", "content": string(rune('a' + i))})
			mu.Lock()
			defer mu.Unlock()
			if r.err == nil {
				created++
			} else if want := `cannot overwrite existing "` + f.path("new/file.txt") + `" without reading it first`; r.err.Error() != want {
				t.Errorf("got %v, want %s", r.err, want)
			}
		})
	}
	wg.Wait()
	if created != 1 {
		t.Errorf("%d agents created the file", created)
	}
}

func TestCancelledCalls(t *testing.T) {
	f := setup(t)
	f.put("a.txt", "one\n")
	f.read("a.txt")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.fails(f.doCtx(ctx, "read", m{"file_path": "a.txt"}), CodeAborted, "read aborted")
	f.fails(f.doCtx(ctx, "write", m{"file_path": "a.txt", "content": "x"}), CodeAborted, "write aborted")
	f.fails(f.doCtx(ctx, "edit", m{"file_path": "a.txt", "old_string": "one", "new_string": "x"}), CodeAborted, "edit aborted")
	if f.get("a.txt") != "one\n" {
		t.Error("a cancelled call changed the file")
	}
}

// A lock that is waited for ends with the context.
func TestLockWaitsNoLongerThanItsContext(t *testing.T) {
	locks := lockTable{entries: map[string]*lockEntry{}}
	unlock, err := locks.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := locks.lock(ctx, "a"); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unlock()
	if len(locks.entries) != 0 {
		t.Error("an entry is left")
	}
}

func TestDefinitionsForTheModel(t *testing.T) {
	f := setup(t)
	for _, name := range []string{"read", "write", "edit"} {
		tool := f.tool(name)
		if len(tool.Description()) < 100 {
			t.Errorf("%s has no description", name)
		}
		if got, want := tool.ConcurrencySafe(jsonvalue.MustFromGo(m{"file_path": "x"})), name == "read"; got != want {
			t.Errorf("%s: concurrency-safe is %v", name, got)
		}
	}
}

// JSON can carry half of a surrogate pair; a file cannot.
func TestHalfASurrogatePairIsRefused(t *testing.T) {
	f := setup(t)
	f.put("a.txt", "one\n")
	if r := f.do("read", map[string]any{"file_path": "a.txt"}); r.err != nil {
		t.Fatal(r.err)
	}
	half := jsonvalue.StringWTF8("a\xed\xa0\x80b")
	for name, args := range map[string]map[string]any{
		"write": {"file_path": "a.txt", "content": half},
		"edit":  {"file_path": "a.txt", "old_string": "one", "new_string": half},
	} {
		if r := f.do(name, args); r.err == nil || !strings.Contains(r.err.Error(), "surrogate") {
			t.Errorf("%s: %v", name, r.err)
		}
	}
	if got := f.get("a.txt"); got != "one\n" {
		t.Errorf("on disk: %q", got)
	}
}
