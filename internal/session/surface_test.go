package session

import (
	"slices"
	"testing"
)

func TestReplacedFollowsTheContextNotTheNumbers(t *testing.T) {
	l := NewMemory(Header{}, Options{})
	for range 6 {
		mustAppend(t, l, prompt("x"))
	}
	first := mustAppend(t, l, Draft{Type: TypeContextMessage, Data: Data("content", []any{}), SurfaceOp: Replace(0, 2)})
	before := l.Events()
	// The summary has a later number than what stands behind it.
	second := mustAppend(t, l, Draft{Type: TypeContextMessage, Data: Data("content", []any{}), SurfaceOp: Replace(first.Seq, 4)})
	if got := Replaced(before, second); !slices.Equal(got, []int64{6, 3, 4}) {
		t.Errorf("%v", got)
	}
	if got := Replaced(before, first); !slices.Equal(got, []int64{0, 1, 2}) {
		t.Errorf("%v", got)
	}
	if got := Replaced(l.Events(), mustAppend(t, l, prompt("y"))); got != nil {
		t.Errorf("an appended event replaces %v", got)
	}
	var seqs []int64
	for _, e := range Surface(l.Events()) {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []int64{7, 5, 8}) {
		t.Errorf("the context is %v", seqs)
	}
}
