package leak

import "sync"

// once is sync.OnceValue under a shorter name.
func once[T any](f func() T) func() T { return sync.OnceValue(f) }
