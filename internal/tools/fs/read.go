package fs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

func (t *Tools) read() registry.Definition {
	return registry.Definition{
		Name:        "read",
		Description: strings.TrimSpace(readDescription),
		Parameters: schema.Params{
			schema.Required("file_path", schema.String("The file; relative to the session's directory, or absolute.")),
			schema.Optional("offset", schema.Number("The first line to show, counted from 1. Default 1.")),
			schema.Optional("limit", schema.Number("How many lines to show. Default and most: 2000.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("path", schema.String("The absolute path.")),
				schema.Required("offset", schema.Integer("The number of the first line.")),
				schema.Required("lines", schema.Array("The lines of the window.", schema.ClosedObject("",
					schema.Required("number", schema.Integer("Counted from 1.")),
					schema.Required("text", schema.String("The line without its ending; a very long one is cut.")),
				))),
				schema.Required("totalLines", schema.Integer("How many lines the whole file has.")),
				schema.Optional("truncatedByBytes", schema.Boolean("Set when the window ended early because of its size.")),
				noteSchema(),
			)),
			Render: renderRead,
		},
		Execute:         t.doRead,
		PresentCall:     presentRead,
		ConcurrencySafe: func(jsonvalue.Value) bool { return true },
	}
}

func (t *Tools) doRead(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	c, err := t.begin("read", args, run)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	offset, err := positive(args, "offset", 1)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	limit, err := positive(args, "limit", maxLines)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if limit > maxLines {
		return jsonvalue.Value{}, fmt.Errorf("limit must be less than or equal to %d", maxLines)
	}
	target, err := c.files.Resolve(ctx, c.path)
	if err == nil && target.Exists && !target.Regular {
		err = ErrNotRegular
	}
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	r, err := c.files.Open(ctx, target)
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	defer r.Close()
	w, err := scan(ctx, r, offset, limit)
	if err != nil {
		return jsonvalue.Value{}, c.explain(ctx, err)
	}
	if offset > w.total && offset > 1 {
		return jsonvalue.Value{}, fail(CodeNotFound, "offset %d is out of range for %q (%d lines)", offset, c.path, w.total)
	}
	t.seen.put(c.agent, target.Real, w.version)
	return withNote(readValue(c.path, offset, w), noteOf(r)), nil
}

// positive reads an optional argument that counts from one.
func positive(args jsonvalue.Value, name string, fallback int) (int, error) {
	v := args.Get(name)
	if v.IsUndefined() {
		return fallback, nil
	}
	f, ok := v.Float()
	if !ok || f < 1 || f != math.Trunc(f) {
		return 0, errors.New(name + " must be a positive integer")
	}
	return int(min(f, 1<<53)), nil
}

func readValue(path string, offset int, w window) jsonvalue.Value {
	lines := make([]jsonvalue.Value, len(w.lines))
	for i, text := range w.lines {
		lines[i] = jsonvalue.Object(member("number", jsonvalue.Int(int64(offset+i))), member("text", jsonvalue.String(text)))
	}
	v := jsonvalue.Object(
		member("path", jsonvalue.String(path)),
		member("offset", jsonvalue.Int(int64(offset))),
		member("lines", jsonvalue.Array(lines...)),
		member("totalLines", jsonvalue.Int(int64(w.total))),
	)
	if w.capped {
		v = v.With("truncatedByBytes", jsonvalue.Bool(true))
	}
	return v
}

func renderRead(_, value jsonvalue.Value) ([]content.Block, error) {
	var b strings.Builder
	last := int64(0)
	for _, line := range value.Get("lines").Elements() {
		last, _ = line.Get("number").Int64()
		fmt.Fprintf(&b, "%d: %s\n", last, line.GetString("text"))
	}
	total, _ := value.Get("totalLines").Int64()
	first, _ := value.Get("offset").Int64()
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	switch capped, _ := value.Get("truncatedByBytes").Bool(); {
	case capped:
		fmt.Fprintf(&b, "(Output capped. Showing lines %d-%d. Use offset=%d to continue.)", first, last, last+1)
	case last > 0 && last < total:
		fmt.Fprintf(&b, "(Showing lines %d-%d of %d. Use offset=%d to continue.)", first, last, total, last+1)
	default:
		fmt.Fprintf(&b, "(End of file - total %d lines)", total)
	}
	b.WriteString(noteLine(value))
	return envelope(value.GetString("path"), b.String()), nil
}

func presentRead(args jsonvalue.Value) *cards.Call {
	path := args.GetString("file_path")
	title, line := "Read "+path, 1
	offset, hasOffset := args.Get("offset").Int64()
	if hasOffset && offset > 0 {
		line = int(offset)
	}
	if limit, ok := args.Get("limit").Int64(); ok {
		title += fmt.Sprintf(" (%d - %d)", line, int64(line)+limit-1)
	} else if hasOffset {
		title += fmt.Sprintf(" (from line %d)", line)
	}
	return &cards.Call{
		Card: cards.Generic, Kind: cards.KindRead, Title: title,
		Locations: []cards.Location{{Path: path, Line: line}},
	}
}
