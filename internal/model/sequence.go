package model

import "iter"

// Sequence turns a function that emits chunks into the sequence that
// [Provider.Stream] returns: emit reports false when the reader has stopped, and
// the error that run returns is yielded last, unless nobody reads any more.
func Sequence(run func(emit func(Chunk) bool) error) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		stopped := false
		err := run(func(c Chunk) bool {
			stopped = !yield(c, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(Chunk{}, err)
		}
	}
}
