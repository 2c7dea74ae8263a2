package pipeline

import (
	"errors"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// run is the body's handle on its own call. After the body has ended it does
// nothing any more.
type run struct {
	pd *Pending

	mu        sync.Mutex
	ended     bool
	contexts  []registry.Context
	concludes bool
}

var _ registry.Run = (*run)(nil)

func (r *run) Execution() *registry.Execution { return r.pd.exec }

func (r *run) DeferContext(c registry.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.contexts = append(r.contexts, c)
	}
}

func (r *run) ConcludeTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.concludes = true
	}
}

var (
	errNoSession = errors.New("this call has no session to append events to")
	errRunEnded  = errors.New("the call has ended: a body must append its events before it returns")
)

func (r *run) Emit(eventType string, data jsonvalue.Value) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return errRunEnded
	case r.pd.call.Emit == nil:
		return errNoSession
	}
	return r.pd.call.Emit(eventType, data)
}

func (r *run) Output(chunk []byte) {
	if f := r.pd.call.Output; f != nil {
		f(chunk)
	}
}

func (r *run) end() ([]registry.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.contexts, r.concludes
}
