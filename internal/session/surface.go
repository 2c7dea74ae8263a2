package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// surface is the model's context as the seqs of its events, in order.
type surface []int64

// opOf reads an event's surfaceOp. A surface event without one counts as
// appended, which is how a reader should take it (the log always writes one).
func opOf(e Event) (start, end int64, replace bool, err error) {
	op := e.SurfaceOp
	if s, ok := op.Str(); ok && s == "append" || op.IsUndefined() {
		return 0, 0, false, nil
	}
	start, okStart := op.Get("start").Int64()
	end, okEnd := op.Get("end").Int64()
	if op.GetString("op") != "replace" || !okStart || !okEnd {
		return 0, 0, false, fmt.Errorf(`a surfaceOp must be "append" or {"op":"replace","start":SEQ,"end":SEQ}, not %s`, op)
	}
	return start, end, true, nil
}

// apply adds a surface event. On error the surface is unchanged.
func (s *surface) apply(e Event) error {
	start, end, replace, err := opOf(e)
	if err != nil {
		return err
	}
	if !replace {
		*s = append(*s, e.Seq)
		return nil
	}
	from, to, err := s.span(start, end)
	if err != nil {
		return err
	}
	*s = slices.Replace(*s, from, to, e.Seq)
	return nil
}

// span finds the positions from (inclusive) to (exclusive) of a replacement.
func (s surface) span(start, end int64) (from, to int, err error) {
	from, last := slices.Index(s, start), slices.Index(s, end)
	if from < 0 || last < 0 || last < from {
		return 0, 0, fmt.Errorf("the events %d to %d are not a part of the model's context", start, end)
	}
	return from, last + 1, nil
}

// surfaceOf folds events to the surface. An operation that cannot be applied
// is skipped: the context then keeps what it had, which loses nothing.
func surfaceOf(events []Event) surface {
	var s surface
	for _, e := range events {
		if IsSurface(e.Type) {
			_ = s.apply(e)
		}
	}
	return s
}

// Surface gives the events that make up the model's context, in its order.
func Surface(events []Event) []Event {
	seqs := surfaceOf(events)
	out := make([]Event, len(seqs))
	for i, seq := range seqs {
		out[i] = eventAt(events, seq)
	}
	return out
}

// Replaced gives the seqs of the events that e takes out of the model's context
// as those of events before it made it; nil when it takes none out. A tool result that stands
// for itself with other content takes itself out.
func Replaced(events []Event, e Event) []int64 {
	start, end, replace, err := opOf(e)
	if err != nil || !replace || !IsSurface(e.Type) {
		return nil
	}
	before, _ := slices.BinarySearchFunc(events, e.Seq, func(e Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
	s := surfaceOf(events[:before])
	from, to, err := s.span(start, end)
	if err != nil {
		return nil
	}
	return s[from:to:to]
}

// checkReplacement enforces that a tool result is only ever replaced by
// itself with other content (rule R14.2), so that no call loses its answer.
func checkReplacement(events []Event, s surface, e Event) error {
	start, end, replace, err := opOf(e)
	if err != nil || !replace {
		return err
	}
	from, to, err := s.span(start, end)
	if err != nil || e.Type != TypeToolResult {
		return err
	}
	old := eventAt(events, s[from])
	if to-from != 1 || old.Type != TypeToolResult {
		return fmt.Errorf("a tool result can replace one tool result only")
	}
	if !sameButContent(old.Data, e.Data) {
		return fmt.Errorf("a replaced tool result may differ in its content only")
	}
	return nil
}

func sameButContent(a, b jsonvalue.Value) bool {
	return a.Without("content").Equal(b.Without("content"))
}
