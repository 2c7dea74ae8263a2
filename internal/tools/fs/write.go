package fs

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	iofs "io/fs"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

func (t *Tools) write() registry.Definition {
	return registry.Definition{
		Name:        "write",
		Description: strings.TrimSpace(writeDescription),
		Parameters: schema.Params{
			schema.Required("file_path", schema.String("The file; relative to the session's directory, or absolute.")),
			schema.Required("content", schema.String("Everything the file shall hold.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("path", schema.String("The absolute path.")),
				schema.Required("operation", schema.Enum("Whether the file is new.", "create", "update")),
				schema.Required("before", schema.OneOf("The old text, null for a new file or one that was no text.", schema.String(""), schema.Null(""))),
				schema.Required("after", schema.String("The new text.")),
				noteSchema(),
			)),
			Render:           renderWrite,
			PresentationMeta: diffMeta,
		},
		Execute:       t.doWrite,
		PresentCall:   presentWrite,
		PresentResult: presentWritten,
	}
}

func (t *Tools) doWrite(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	c, err := t.begin("write", args, run)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	target, unlock, err := c.lock(ctx)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	defer unlock()
	if err := t.permit(run, target); err != nil {
		return jsonvalue.Value{}, err
	}
	before, err := t.checkWrite(ctx, c, target)
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	after := tools.Text(args, "content")
	note, err := c.files.Write(ctx, target, []byte(after))
	if err != nil {
		if !target.Exists && errors.Is(err, iofs.ErrExist) { // somebody else was faster
			err = notObserved(c.path)
		}
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	t.seen.put(c.agent, target.Real, versionOf([]byte(after)))
	operation := "create"
	if target.Exists {
		operation = "update"
	}
	return withNote(jsonvalue.Object(
		member("path", jsonvalue.String(c.path)),
		member("operation", jsonvalue.String(operation)),
		member("before", before),
		member("after", jsonvalue.String(lfText(after))),
	), note), nil
}

// checkWrite says whether the agent knows what it is about to replace, and
// gives the old text: null for a new file, and for one that is no text.
func (t *Tools) checkWrite(ctx context.Context, c call, target Target) (jsonvalue.Value, error) {
	known, seen := t.seen.get(c.agent, target.Real)
	switch {
	case target.Exists && !target.Regular:
		return jsonvalue.Value{}, ErrNotRegular
	case target.Exists && !seen:
		return jsonvalue.Value{}, notObserved(c.path)
	case !target.Exists && seen:
		// Now the agent knows: another write creates the file.
		t.seen.drop(c.agent, target.Real)
		return jsonvalue.Value{}, fail(CodeStaleVersion, "cannot write %q: file no longer exists", c.path)
	case !target.Exists:
		return jsonvalue.Null(), nil
	}
	data, err := c.load(ctx, target)
	var now version
	switch {
	case errors.Is(err, ErrTooLarge):
		now, err = c.versionOf(ctx, target)
		data = nil
	case err == nil:
		now = versionOf(data)
	}
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if now != known {
		return jsonvalue.Value{}, ErrChanged
	}
	if data == nil || checkText(data) != nil {
		return jsonvalue.Null(), nil
	}
	return jsonvalue.String(lfText(string(data))), nil
}

func notObserved(path string) error {
	return fail(CodeNotObserved, "cannot overwrite existing %q without reading it first", path)
}

// versionOf takes the version of a file that is too large to hold.
func (c call) versionOf(ctx context.Context, t Target) (version, error) {
	r, err := c.files.Open(ctx, t)
	if err != nil {
		return version{}, err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, untilDone{ctx, r})
	v := version{size: n}
	h.Sum(v.hash[:0])
	return v, err
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

func renderWrite(_, value jsonvalue.Value) ([]content.Block, error) {
	done := "Updated file"
	if value.GetString("operation") == "create" {
		done = "Created file"
	}
	return envelope(value.GetString("path"), done+noteLine(value)), nil
}

func presentWrite(args jsonvalue.Value) *cards.Call {
	path := args.GetString("file_path")
	return &cards.Call{
		Card: cards.Diff, Kind: cards.KindEdit, Title: "Write " + path,
		Locations: []cards.Location{{Path: path}},
		Diffs:     []cards.FileDiff{{Path: path, NewText: args.GetString("content")}},
	}
}

// presentWritten shows the hunks of an update; a new file, and one that was
// written as it was, is shown as a whole.
func presentWritten(args jsonvalue.Value, r cards.ResultInput) *cards.Result {
	if r.IsError {
		return nil
	}
	path := args.GetString("file_path")
	card := &cards.Result{Card: cards.Diff, Title: "Write " + path, Diffs: diffsFromMeta(r.Meta)}
	if len(card.Diffs) == 0 {
		card.Diffs = []cards.FileDiff{{Path: path, NewText: args.GetString("content")}}
	}
	return card
}
