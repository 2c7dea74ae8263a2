package fs

import (
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/textdiff"
)

// diffMeta keeps, for the result card, what a change really did: one diff a
// hunk, with the path as the model wrote it. A new file has none, since its
// card shows it as a whole.
func diffMeta(args, value jsonvalue.Value) (jsonvalue.Value, error) {
	var diffs []jsonvalue.Value
	if before, ok := value.Get("before").Str(); ok {
		for _, h := range textdiff.Hunks(before, value.GetString("after")) {
			diffs = append(diffs, jsonvalue.Object(
				member("path", args.Get("file_path")),
				member("oldText", jsonvalue.String(h.OldText)),
				member("newText", jsonvalue.String(h.NewText)),
			))
		}
	}
	return jsonvalue.Object(member("diffs", jsonvalue.Array(diffs...))), nil
}

// diffsFromMeta reads them back. Entries of another shape are skipped: a log
// can come from anywhere.
func diffsFromMeta(meta jsonvalue.Value) []cards.FileDiff {
	var diffs []cards.FileDiff
	for _, d := range meta.Get("diffs").Elements() {
		path, ok := d.Get("path").Str()
		newText, ok2 := d.Get("newText").Str()
		if !ok || !ok2 {
			continue
		}
		diff := cards.FileDiff{Path: path, NewText: newText}
		if old, ok := d.Get("oldText").Str(); ok {
			diff.OldText = &old
		}
		diffs = append(diffs, diff)
	}
	return diffs
}
