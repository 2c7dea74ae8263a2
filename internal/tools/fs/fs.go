// Package fs has the tools read, write and edit. They work on text: what they
// cannot show without loss they refuse, and what a change does not name stays
// as it was, to the byte. A file must have been seen before it is changed, and
// must not have changed since.
package fs

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// Options configure the tools.
type Options struct {
	// FileSystem is used for agents that have none of their own. nil means Disk.
	FileSystem FileSystem
	// FileSystemOf gives the file system of an agent that does not bring one
	// itself (see [Provider]); nil, or what gives nil, means FileSystem.
	FileSystemOf func(registry.Agent) FileSystem
	// Observations is where the tools note what agents have seen. Give one to
	// be able to forget agents that have ended. nil means a new one.
	Observations *Observations
	// Bounds, if set, says under which mode a call runs and whether that lets it
	// change the file at a path, which has no symbolic links. It is asked when the
	// file to change is known and locked.
	Bounds func(exec *registry.Execution, real string) (mode string, ok bool)
	// Escalation lets the model ask for a wider mode for one write or edit: a
	// policy reads the parameters that it adds.
	Escalation bool
}

// Tools are the file tools with their configuration.
type Tools struct {
	files      FileSystem
	filesOf    func(registry.Agent) FileSystem
	seen       *Observations
	bounds     func(exec *registry.Execution, real string) (mode string, ok bool)
	escalation bool
}

// New returns the tools.
func New(opts Options) *Tools {
	t := &Tools{files: opts.FileSystem, filesOf: opts.FileSystemOf, seen: opts.Observations, bounds: opts.Bounds, escalation: opts.Escalation}
	if t.files == nil {
		t.files = Disk{}
	}
	if t.seen == nil {
		t.seen = &Observations{}
	}
	return t
}

// Register adds read, write and edit to a scope.
func Register(scope *registry.Scope, opts Options) error {
	for _, def := range New(opts).Definitions() {
		if _, err := scope.Register(def); err != nil {
			return err
		}
	}
	return nil
}

// Definitions are read, write and edit.
func (t *Tools) Definitions() []registry.Definition {
	return []registry.Definition{t.read(), t.change(t.write()), t.change(t.edit())}
}

var (
	//go:embed read.md
	readDescription string
	//go:embed write.md
	writeDescription string
	//go:embed edit.md
	editDescription string
)

// change is what the tools that change files have in common: the parameters by
// which a wider mode is asked for, or their refusal.
func (t *Tools) change(def registry.Definition) registry.Definition {
	def.Execute = refuseHalfCharacters(def.Execute)
	if t.escalation {
		def.Parameters = append(def.Parameters, tools.EscalationParams()...)
		return def
	}
	execute := def.Execute
	def.Execute = func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		if err := tools.RefuseEscalation(args); err != nil {
			return jsonvalue.Value{}, err
		}
		return execute(ctx, args, run)
	}
	return def
}

// refuseHalfCharacters fails a call whose texts hold half of a surrogate pair.
// JSON can carry one and UTF-8 cannot: writing something else in its place and
// calling it done would be a lie.
func refuseHalfCharacters(execute func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error)) func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
	return func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
		for name, v := range args.Members() {
			if s, ok := v.Str(); ok && !utf8.ValidString(s) {
				return jsonvalue.Value{}, errors.New(name + " holds half of a surrogate pair, which no UTF-8 text can hold: write the whole character")
			}
		}
		return execute(ctx, args, run)
	}
}

// call is what every file tool needs of its call.
type call struct {
	verb  string // for messages
	files FileSystem
	agent string
	path  string // absolute, links not followed
}

// begin checks the path argument and finds out for whom the call is.
func (t *Tools) begin(verb string, args jsonvalue.Value, run registry.Run) (call, error) {
	c := call{verb: verb, files: t.files}
	given := tools.Text(args, "file_path")
	if strings.TrimSpace(given) == "" {
		return c, errors.New("file_path must be a non-empty string")
	}
	exec := run.Execution()
	c.agent = tools.AgentKey(exec)
	if p, ok := exec.Agent().(Provider); ok {
		if files := p.FileSystem(); files != nil {
			c.files = files
		}
	} else if t.filesOf != nil && exec.Agent() != nil {
		if files := t.filesOf(exec.Agent()); files != nil {
			c.files = files
		}
	}
	c.path = filepath.Clean(given)
	if !filepath.IsAbs(c.path) {
		c.path = filepath.Join(tools.Cwd(exec), c.path)
	}
	return c, nil
}

// permit says why the call may not change a file, nil when it may.
func (t *Tools) permit(run registry.Run, target Target) error {
	if t.bounds == nil {
		return nil
	}
	mode, ok := t.bounds(run.Execution(), target.Real)
	if ok {
		return nil
	}
	return &Error{message: tools.SandboxDenied(mode) + "\n" + tools.EscalationHint("operation"), code: CodeSandboxDenied}
}

// lock resolves the path and takes the lock of the file that it leads to.
func (c call) lock(ctx context.Context) (Target, func(), error) {
	t, err := c.files.Resolve(ctx, c.path)
	for range maxLinks {
		if err != nil {
			return t, nil, explain(ctx, c.verb, c.path, err)
		}
		unlock, lockErr := fileLocks.lock(ctx, t.Real)
		if lockErr != nil {
			return t, nil, explain(ctx, c.verb, c.path, lockErr)
		}
		// While we waited the file may have been made, replaced, or the link
		// pointed elsewhere.
		again, againErr := c.files.Resolve(ctx, c.path)
		if againErr == nil && again.Real == t.Real {
			return again, unlock, nil
		}
		unlock()
		t, err = again, againErr
	}
	return t, nil, fail(CodeIO, "cannot %s %q: the symbolic links on the way keep changing", c.verb, c.path)
}

// load reads a whole file that is to be changed.
func (c call) load(ctx context.Context, t Target) ([]byte, error) {
	r, err := c.files.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxChange+1))
	if err == nil && len(data) > maxChange {
		err = ErrTooLarge
	}
	return data, err
}

func (c call) explain(ctx context.Context, err error) error {
	return explain(ctx, c.verb, c.path, err)
}

// noteSchema is the member of every value for what a file system has to say.
func noteSchema() schema.Property {
	return schema.Optional("note", schema.String("What to know about where the text is, when it is not simply the file on disk."))
}

// withNote adds a note to a value.
func withNote(value jsonvalue.Value, note string) jsonvalue.Value {
	if note == "" {
		return value
	}
	return value.With("note", jsonvalue.String(note))
}

// noteLine is the note as the last line of a text.
func noteLine(value jsonvalue.Value) string {
	if note := value.GetString("note"); note != "" {
		return "\n(" + note + ")"
	}
	return ""
}

// envelope is the text around what a tool says of a file.
func envelope(path, body string) []content.Block {
	return []content.Block{content.Text("<path>" + path + "</path>\n<type>file</type>\n<content>\n" + body + "\n</content>")}
}

// member shortens object literals.
func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}

// mustSchema converts the literals of the output schemas.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("fs: an output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
