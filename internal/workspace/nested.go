package workspace

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// maxNested is the most that is shown, in bytes, of the nested files of one
// session together; of further ones only their names are told.
const maxNested = 128 << 10

// plugin is who adds the messages, in the words of the log.
const plugin = "workspace-context"

// touches says which argument of a tool is the file or folder it works on.
var touches = map[string]string{
	"read": "file_path", "write": "file_path", "edit": "file_path",
	"glob": "path", "grep": "path", "bash": "workdir",
}

// seen is what one agent was told of nested files, by scope as the log has it:
// folder, NUL, file name.
type seen map[string]told

// told is one file that an agent was told of.
type told struct {
	real  string // without links; "" when it is not known
	bytes int    // that it takes in the conversation
	seq   int64  // of its event in the session's log; -1 while there is none
}

func (s seen) has(real string) bool {
	for _, t := range s {
		if t.real == real && real != "" {
			return true
		}
	}
	return false
}

func (s seen) bytes() (n int) {
	for _, t := range s {
		n += t.bytes
	}
	return n
}

// of gives what an agent was told. The caller holds w.mu.
func (w *Workspace) of(agent string) seen {
	if w.seen[agent] == nil {
		w.seen[agent] = seen{}
	}
	return w.seen[agent]
}

// Logged takes note of the data of a context/message event in the session's log,
// as it is appended or when a session is opened again: what it announced is not
// announced twice.
func (w *Workspace) Logged(seq int64, data jsonvalue.Value) {
	if data.Get("source").GetString("plugin") != plugin {
		return
	}
	w.find()
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0
	if blocks, err := content.ListFromValue(data.Get("content")); err == nil {
		size = len(content.JoinText(blocks))
	}
	s := w.of(w.agent)
	for _, c := range data.Get("meta").Get("changes").Elements() {
		scope := c.GetString("scope")
		t, known := s[scope]
		if !known {
			t.bytes, size = size, 0
			if real, err := filepath.EvalSymlinks(filepath.Join(w.cwd, filepath.FromSlash(c.GetString("path")))); err == nil {
				t.real = real
			}
		}
		t.seq = seq
		s[scope] = t
	}
}

// Replaced takes note that these events of the session's log were taken out of
// the model's context, for a summary for instance: the files that they announced
// are announced again when their folders are touched.
func (w *Workspace) Replaced(seqs []int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.of(w.agent), func(_ string, t told) bool { return slices.Contains(seqs, t.seq) })
}

// discover is a post-execute listener: a call that worked in a folder brings
// the instruction files of that folder, and of those between it and the project,
// before the model, each once in a session.
func (w *Workspace) discover(ctx context.Context, exec *registry.Execution, r *registry.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
	d, err := next(ctx)
	if err != nil || !d.IsAccept() || r.IsError() || ctx.Err() != nil {
		return d, err
	}
	key, ok := touches[exec.Name()]
	if !ok {
		return d, nil
	}
	path := exec.Arguments().GetString(key)
	if path == "" {
		return d, nil // the working directory: its files are in the prompt
	}
	agent := ""
	if a := exec.Agent(); a != nil {
		agent = a.AgentID()
	}
	if found := w.nested(agent, path); len(found) > 0 {
		d = d.WithContexts(found...)
	}
	return d, nil
}

// nested makes the messages for a path that an agent's call named.
func (w *Workspace) nested(agent, path string) []registry.Context {
	w.find()
	dirs := w.folders(path)
	if len(dirs) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loaded == nil {
		w.refresh() // no prompt was put together yet
	}
	known := w.of(agent)
	var out []registry.Context
	for _, dir := range dirs {
		for _, name := range fileNames {
			scope := w.label(dir) + "\x00" + name
			if _, ok := known[scope]; ok {
				continue
			}
			f, ok := w.read(filepath.Join(dir, name), min(maxFile, maxNested-known.bytes()))
			if !ok || f.real != "" && (w.loaded[f.real] || known.has(f.real)) {
				continue
			}
			known[scope] = told{real: f.real, bytes: len(f.text), seq: -1}
			out = append(out, announcement(w.label(dir), scope, f))
		}
	}
	return out
}

// folders lists the folders that a path's instructions come from, the outermost
// first, without those whose files are in the prompt. The path counts as it is
// written, so that a linked folder belongs to the project that links to it, and
// as what it leads to, if that is in the project too.
func (w *Workspace) folders(path string) []string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.given, path)
	}
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path = filepath.Dir(path)
	}
	// The working directory may be written through a link itself.
	if rel, err := filepath.Rel(w.given, path); err == nil && textfile.Within(w.given, path) {
		path = filepath.Join(w.cwd, rel)
	}
	var dirs []string
	real, err := filepath.EvalSymlinks(path)
	for _, top := range append([]string{w.root}, w.extra...) {
		dirs = append(dirs, chain(top, path)...)
		if err == nil && real != path {
			dirs = append(dirs, chain(top, real)...)
		}
	}
	prompt := map[string]bool{}
	for _, d := range w.initial() {
		prompt[d] = true
	}
	var out []string
	for _, d := range dirs {
		if !prompt[d] {
			prompt[d] = true
			out = append(out, d)
		}
	}
	return out
}

// announcement is the message for one file. Its texts and meta are those of the
// recorded logs.
func announcement(dir, scope string, f shown) registry.Context {
	sum := sha1.Sum(f.raw)
	text := "<system-reminder>\nAdditional instructions from: " + oneLine(f.label) +
		"\n\nThese instructions apply to work under `" + oneLine(dir) + "`. Use them as guidance when relevant; more specific instructions take precedence. They do not override system, developer, or direct user instructions.\n\n" +
		inside("system-reminder", f.text) + "\n\n</system-reminder>"
	return registry.Context{
		Content: []content.Block{content.Text(text)},
		Source: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String("plugin")},
			jsonvalue.Member{Key: "plugin", Value: jsonvalue.String(plugin)},
		),
		Meta: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String("workspace-instructions")},
			jsonvalue.Member{Key: "version", Value: jsonvalue.Int(1)},
			jsonvalue.Member{Key: "changes", Value: jsonvalue.Array(jsonvalue.Object(
				jsonvalue.Member{Key: "action", Value: jsonvalue.String("set")},
				jsonvalue.Member{Key: "scope", Value: jsonvalue.String(scope)},
				jsonvalue.Member{Key: "path", Value: jsonvalue.String(f.label)},
				jsonvalue.Member{Key: "digest", Value: jsonvalue.String(hex.EncodeToString(sum[:]))},
			))},
		),
	}
}
