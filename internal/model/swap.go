package model

import (
	"context"
	"iter"
	"sync/atomic"
)

// Swap is a provider that can be replaced by another of the same id while
// sessions use it: by the same service behind a gateway, for instance. A request
// that runs ends at the provider it was sent to. Make one with [NewSwap].
type Swap struct {
	id  string
	now atomic.Pointer[Provider]
}

// NewSwap begins with p.
func NewSwap(p Provider) *Swap {
	s := &Swap{id: p.ProviderID()}
	s.now.Store(&p)
	return s
}

// Set makes every later request go to p, under the id of the first provider.
func (s *Swap) Set(p Provider) { s.now.Store(&p) }

// Current is the provider that the next request goes to.
func (s *Swap) Current() Provider { return *s.now.Load() }

// ProviderID is that of the first provider.
func (s *Swap) ProviderID() string { return s.id }

// Models lists those of the current provider.
func (s *Swap) Models(ctx context.Context) ([]Info, error) { return s.Current().Models(ctx) }

// Stream asks the current provider.
func (s *Swap) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return s.Current().Stream(ctx, req)
}

// Describe is the current provider's; see [Describer].
func (s *Swap) Describe(id string) Info {
	if d, ok := s.Current().(Describer); ok {
		return d.Describe(id)
	}
	return Info{ID: id}
}

// Commands are the current provider's; see [CommandProvider].
func (s *Swap) Commands() []Command {
	if p, ok := s.Current().(CommandProvider); ok {
		return p.Commands()
	}
	return nil
}
