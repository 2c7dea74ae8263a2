// Package textdiff turns a text before and after a change into the hunks that
// an editor shows: the changed lines with a little context around them.
package textdiff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Context is the number of unchanged lines kept around a change.
const Context = 3

// Hunk is one contiguous piece of a change. OldText and NewText are the lines
// of both sides, joined by "\n" and without a final one, unless the final
// newline is all that changed: then the side that has it shows it, so that the
// two texts of a hunk always differ.
type Hunk struct {
	// OldStart and NewStart are 1-based line numbers of the first line shown.
	OldStart, NewStart int
	// OldLines and NewLines count the lines of each side.
	OldLines, NewLines int
	OldText, NewText   string
}

// Hunks compares two texts line by line and returns the changes in order, each
// with Context unchanged lines around it. Changes whose context would touch
// share a hunk. Equal texts give none. Lines end at "\n"; a carriage return is
// an ordinary character, so callers normalise first if they want to.
func Hunks(before, after string) []Hunk {
	if before == after {
		return nil
	}
	old, new := splitLines(before), splitLines(after)
	var hunks []Hunk
	for _, g := range group(changes(old, new), len(old)) {
		hunks = append(hunks, render(old, new, g))
	}
	return hunks
}

// change says that old[oldStart:oldEnd] became new[newStart:newEnd].
type change struct{ oldStart, oldEnd, newStart, newEnd int }

// changes finds the changed line ranges. The equal head and tail are cut off
// first: an edit touches few lines of a file that may have very many.
func changes(old, new []string) []change {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	var out []change
	for _, d := range lcs.DiffLines(old[head:len(old)-tail], new[head:len(new)-tail]) {
		c := change{head + d.Start, head + d.End, head + d.ReplStart, head + d.ReplEnd}
		if n := len(out); n > 0 && out[n-1].oldEnd == c.oldStart && out[n-1].newEnd == c.newStart {
			out[n-1].oldEnd, out[n-1].newEnd = c.oldEnd, c.newEnd
			continue
		}
		out = append(out, c)
	}
	return out
}

// group widens each change by its context and merges those that touch.
func group(cs []change, oldLen int) []change {
	var out []change
	for _, c := range cs {
		before := min(Context, c.oldStart)
		after := min(Context, oldLen-c.oldEnd)
		wide := change{c.oldStart - before, c.oldEnd + after, c.newStart - before, c.newEnd + after}
		if n := len(out); n > 0 && wide.oldStart <= out[n-1].oldEnd {
			out[n-1].oldEnd, out[n-1].newEnd = wide.oldEnd, wide.newEnd
			continue
		}
		out = append(out, wide)
	}
	return out
}

func render(old, new []string, g change) Hunk {
	h := Hunk{
		OldStart: g.oldStart + 1, OldLines: g.oldEnd - g.oldStart,
		NewStart: g.newStart + 1, NewLines: g.newEnd - g.newStart,
	}
	oldText := strings.Join(old[g.oldStart:g.oldEnd], "")
	newText := strings.Join(new[g.newStart:g.newEnd], "")
	h.OldText = strings.TrimSuffix(oldText, "\n")
	h.NewText = strings.TrimSuffix(newText, "\n")
	if h.OldText == h.NewText {
		h.OldText, h.NewText = oldText, newText
	}
	return h
}

// splitLines cuts after every "\n"; the pieces keep it, so that a missing
// final newline is a difference like any other.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			i = len(s)
		}
		lines = append(lines, s[:i])
		s = s[i:]
	}
	return lines
}
