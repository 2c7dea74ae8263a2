package worker

import (
	"github.com/dop251/goja"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// rejections keeps the promises that were rejected while nobody handled it, and
// what is known about the failures made here.
type rejections struct {
	order []*goja.Promise
	open  map[*goja.Promise]struct{}
	notes map[*goja.Object]string
}

func (r *rejections) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionHandle {
		r.forget(p)
		return
	}
	if r.open == nil {
		r.open = map[*goja.Promise]struct{}{}
	}
	r.open[p] = struct{}{}
	r.order = append(r.order, p)
	// A program that rejects and handles by the million leaves only holes.
	if len(r.order) > 64 && len(r.order) > 2*len(r.open) {
		kept := r.order[:0]
		for _, p := range r.order {
			if _, ok := r.open[p]; ok {
				kept = append(kept, p)
			}
		}
		clear(r.order[len(kept):])
		r.order = kept
	}
}

func (r *rejections) forget(p *goja.Promise) { delete(r.open, p) }

// first is the reason of the first rejection that is still unhandled.
func (r *rejections) first() (goja.Value, bool) {
	for _, p := range r.order {
		if _, ok := r.open[p]; ok {
			return p.Result(), true
		}
	}
	return nil, false
}

// remember keeps what is known about a failure beyond its message.
func (r *rejections) remember(o *goja.Object, detail string) {
	if detail == "" {
		return
	}
	if r.notes == nil {
		r.notes = map[*goja.Object]string{}
	}
	r.notes[o] = detail
}

func (r *rejections) detail(o *goja.Object) string { return r.notes[o] }

// awaitTracker knows which awaits have not come back, so that a program that
// waits forever can be told where. goja calls it whenever something is to run
// once a promise settles.
type awaitTracker struct {
	vm   *goja.Runtime
	head await // the ring of what waits, newest first
}

type await struct {
	prev, next *await
	stack      [2]goja.StackFrame
	depth      int
}

// Grab implements goja.AsyncContextTracker.
func (t *awaitTracker) Grab() any {
	a := &await{}
	a.depth = len(t.vm.CaptureCallStack(2, a.stack[:0]))
	if t.head.next == nil {
		t.head.next, t.head.prev = &t.head, &t.head
	}
	a.prev, a.next = &t.head, t.head.next
	a.next.prev, t.head.next = a, a
	return a
}

// Resumed implements goja.AsyncContextTracker.
func (t *awaitTracker) Resumed(ctx any) {
	if a, ok := ctx.(*await); ok && a.next != nil {
		a.prev.next, a.next.prev = a.next, a.prev
		a.prev, a.next = nil, nil
	}
}

// Exited implements goja.AsyncContextTracker.
func (t *awaitTracker) Exited() {}

// waiting are the places that wait, each once. Those in named functions come
// first, the newest first: what the program's top level waits for is mostly one
// of them.
func (t *awaitTracker) waiting() []wire.Frame {
	var named, plain []wire.Frame
	seen := map[wire.Position]bool{}
	if t.head.next == nil {
		return nil
	}
	for a := t.head.next; a != &t.head && len(seen) < 4*maxStackShown; a = a.next {
		for i := range a.stack[:min(a.depth, len(a.stack))] {
			at, ok := position(&a.stack[i])
			if !ok {
				continue
			}
			if f := (wire.Frame{Function: functionName(a.stack[i].FuncName()), At: at}); !seen[at] {
				seen[at] = true
				if f.Function != "" {
					named = append(named, f)
				} else {
					plain = append([]wire.Frame{f}, plain...)
				}
			}
			break
		}
	}
	all := append(named, plain...)
	return all[:min(len(all), maxStackShown)]
}
