package launch

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestPlansAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var plan []byte
		texts := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(r, "texts")
		for i, text := range texts {
			plan = Append(plan, Op('a'+i%20), string(text))
		}
		whole := plan
		for i, text := range texts {
			op, got, rest, ok := next(plan)
			if !ok || op != Op('a'+i%20) || !bytes.Equal(got, text) {
				r.Fatalf("step %d: %c %q %v", i, op, got, ok)
			}
			plan = rest
		}
		if _, _, _, ok := next(plan); ok {
			r.Fatal("there is more than was written")
		}
		// A plan that was cut short is never taken for a shorter one in its last step.
		if n := len(whole); n > 0 {
			cut := whole[:rapid.IntRange(0, n-1).Draw(r, "cut")]
			for steps := 0; ; steps++ {
				_, _, rest, ok := next(cut)
				if !ok {
					if steps == len(texts) {
						r.Fatal("every step was read from a part of the plan")
					}
					break
				}
				cut = rest
			}
		}
	})
}

func FuzzNext(f *testing.F) {
	f.Add(Append(nil, OpExec, "/bin/true"))
	f.Add([]byte{'a', 255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, plan []byte) {
		for {
			_, _, rest, ok := next(plan)
			if !ok {
				return
			}
			if len(rest) >= len(plan) {
				t.Fatal("no progress")
			}
			plan = rest
		}
	})
}
