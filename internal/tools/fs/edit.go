package fs

import (
	"context"
	"errors"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

func (t *Tools) edit() registry.Definition {
	return registry.Definition{
		Name:        "edit",
		Description: strings.TrimSpace(editDescription),
		Parameters: schema.Params{
			schema.Required("file_path", schema.String("The file; relative to the session's directory, or absolute.")),
			schema.Required("old_string", schema.String("The text to replace, exactly as the file has it.")),
			schema.Required("new_string", schema.String("What to put in its place.")),
			schema.Optional("replace_all", schema.Boolean("Replace every occurrence instead of the only one.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("path", schema.String("The absolute path.")),
				schema.Required("before", schema.String("The old text.")),
				schema.Required("after", schema.String("The new text.")),
				noteSchema(),
			)),
			Render:           renderEdit,
			PresentationMeta: diffMeta,
		},
		Execute:       t.doEdit,
		PresentCall:   presentEdit,
		PresentResult: presentEdited,
	}
}

// replacement is a checked edit; both texts have line feeds only.
type replacement struct {
	old, new string
	all      bool
}

func parseEdit(args jsonvalue.Value) (replacement, error) {
	old, new := tools.Text(args, "old_string"), tools.Text(args, "new_string")
	r := replacement{old: toLF(old), new: toLF(new)}
	r.all, _ = args.Get("replace_all").Bool()
	switch {
	case old == "":
		return r, errors.New("old_string must be a non-empty string")
	case old == new:
		return r, errors.New("old_string and new_string must differ")
	case r.old == r.new:
		return r, errors.New("old_string and new_string must differ by more than line endings: an edit keeps those of the file; use write to change them")
	}
	return r, nil
}

func (t *Tools) doEdit(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	c, err := t.begin("edit", args, run)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	r, err := parseEdit(args)
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
	data, err := t.loadForEdit(ctx, c, target)
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	before, after, err := r.apply(c.path, string(data))
	if err != nil {
		return jsonvalue.Value{}, err
	}
	note, err := c.files.Write(ctx, target, []byte(after))
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	t.seen.put(c.agent, target.Real, versionOf([]byte(after)))
	return withNote(jsonvalue.Object(
		member("path", jsonvalue.String(c.path)),
		member("before", jsonvalue.String(before)),
		member("after", jsonvalue.String(lfText(after))),
	), note), nil
}

// loadForEdit gives the bytes of a file that the agent has seen as they are.
func (t *Tools) loadForEdit(ctx context.Context, c call, target Target) ([]byte, error) {
	known, seen := t.seen.get(c.agent, target.Real)
	switch {
	case target.Exists && !target.Regular:
		return nil, ErrNotRegular
	case target.Exists && !seen:
		return nil, fail(CodeNotObserved, "edit requires reading %q first", c.path)
	case !target.Exists && seen:
		return nil, ErrChanged
	}
	data, err := c.load(ctx, target)
	if err != nil {
		return nil, err
	}
	if versionOf(data) != known {
		return nil, ErrChanged
	}
	return data, checkText(data)
}

// apply gives the text before, as the model knows it, and the bytes after.
func (r replacement) apply(path, data string) (before, after string, err error) {
	v := newView(data)
	at := v.matches(r.old)
	switch {
	case len(at) == 0:
		if h := hint(v.text, r.old); h != "" {
			return "", "", fail(CodeEditNotFound, "old_string was not found in %q; %s", path, h)
		}
		return "", "", fail(CodeEditNotFound, "old_string was not found in %q", path)
	case len(at) > 1 && !r.all:
		return "", "", fail(CodeAmbiguousEdit, "old_string matched %d times in %q; provide a more specific old_string or set replace_all to true", len(at), path)
	}
	return v.text, v.splice(at, r.old, r.new), nil
}

func renderEdit(args, value jsonvalue.Value) ([]content.Block, error) {
	text := "The file " + value.GetString("path") + " has been updated"
	if all, _ := args.Get("replace_all").Bool(); all {
		text += ". All occurrences were successfully replaced."
	} else {
		text += " successfully."
	}
	return []content.Block{content.Text(text + noteLine(value))}, nil
}

func presentEdit(args jsonvalue.Value) *cards.Call {
	path, old := args.GetString("file_path"), args.GetString("old_string")
	return &cards.Call{
		Card: cards.Diff, Kind: cards.KindEdit, Title: "Edit " + path,
		Locations: []cards.Location{{Path: path}},
		Diffs:     []cards.FileDiff{{Path: path, OldText: &old, NewText: args.GetString("new_string")}},
	}
}

// presentEdited shows the hunks; without any the text says what happened.
func presentEdited(args jsonvalue.Value, r cards.ResultInput) *cards.Result {
	diffs := diffsFromMeta(r.Meta)
	if r.IsError || len(diffs) == 0 {
		return nil
	}
	return &cards.Result{Card: cards.Diff, Title: "Edit " + args.GetString("file_path"), Diffs: diffs}
}
