package worker

import (
	"container/heap"
	"math"
	"time"

	"github.com/dop251/goja"
)

// maxDelay is the longest delay a timer keeps; above it, as in a browser, the
// delay is taken for none.
const maxDelay = math.MaxInt32

// timers are the program's timeouts and intervals, in the order they are due.
type timers struct {
	queue timerHeap
	byID  map[int64]*timer
	last  int64 // the id given last
	order int64 // breaks ties: timers due at once fire in the order they were set
}

type timer struct {
	id, order int64
	due       time.Time
	every     time.Duration // zero for a timeout
	call      goja.Callable
	args      []goja.Value
	index     int // in the queue; -1 when not queued
}

// set starts a timer and returns its id.
func (t *timers) set(call goja.Callable, delay float64, repeat bool, args []goja.Value) int64 {
	if !(delay >= 1 && delay <= maxDelay) { // NaN too
		delay = 1
	}
	if t.byID == nil {
		t.byID = map[int64]*timer{}
	}
	t.last++
	d := time.Duration(delay * float64(time.Millisecond))
	entry := &timer{id: t.last, due: time.Now().Add(d), call: call, args: args}
	if repeat {
		entry.every = d
	}
	t.byID[entry.id] = entry
	t.push(entry)
	return entry.id
}

func (t *timers) push(entry *timer) {
	t.order++
	entry.order = t.order
	heap.Push(&t.queue, entry)
}

// clear ends a timer; an unknown id is nothing.
func (t *timers) clear(id int64) {
	entry := t.byID[id]
	if entry == nil {
		return
	}
	delete(t.byID, id)
	if entry.index >= 0 {
		heap.Remove(&t.queue, entry.index)
	}
}

// next is when the next timer is due.
func (t *timers) next() (time.Time, bool) {
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].due, true
}

// fire runs one timer that is due. Its promise jobs run before it returns.
func (t *timers) fire(vm *goja.Runtime) error {
	if len(t.queue) == 0 || time.Until(t.queue[0].due) > 0 {
		return nil
	}
	entry := heap.Pop(&t.queue).(*timer)
	if entry.every == 0 {
		delete(t.byID, entry.id)
	}
	_, err := entry.call(goja.Undefined(), entry.args...)
	if entry.every > 0 && t.byID[entry.id] == entry {
		entry.due = time.Now().Add(entry.every)
		t.push(entry)
	}
	return err
}

// timerHeap orders timers by when they are due.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].order < h[j].order
	}
	return h[i].due.Before(h[j].due)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	entry := x.(*timer)
	entry.index = len(*h)
	*h = append(*h, entry)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	old := *h
	entry := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	entry.index = -1
	return entry
}
