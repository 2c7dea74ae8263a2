package registry

import "iter"

// ordered is a map that remembers the order of insertion; all its operations
// take constant time, so that thousands of tools come and go in linear time.
type ordered[T any] struct {
	byName      map[string]*node[T]
	first, last *node[T]
}

type node[T any] struct {
	name       string
	value      T
	prev, next *node[T]
}

func (o *ordered[T]) len() int { return len(o.byName) }

func (o *ordered[T]) get(name string) (v T, ok bool) {
	if n := o.byName[name]; n != nil {
		return n.value, true
	}
	return v, false
}

// insert appends an entry; the name must be new.
func (o *ordered[T]) insert(name string, v T) *node[T] {
	if o.byName == nil {
		o.byName = make(map[string]*node[T])
	}
	n := &node[T]{name: name, value: v, prev: o.last}
	if o.last == nil {
		o.first = n
	} else {
		o.last.next = n
	}
	o.last = n
	o.byName[name] = n
	return n
}

// remove takes out exactly n, if it is still there.
func (o *ordered[T]) remove(n *node[T]) bool {
	if n == nil || o.byName[n.name] != n {
		return false
	}
	delete(o.byName, n.name)
	if n.prev == nil {
		o.first = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		o.last = n.prev
	} else {
		n.next.prev = n.prev
	}
	return true
}

func (o *ordered[T]) all() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for n := o.first; n != nil; n = n.next {
			if !yield(n.name, n.value) {
				return
			}
		}
	}
}
