package registry

import (
	"log/slog"
	"slices"
	"sync"
)

// Options configure a registry (rules R4.1 to R4.4).
type Options struct {
	// Mode is how tools are presented to the model unless a scope says
	// otherwise; "" means native (rule R4.1).
	Mode Mode
	// ToolOrder lists tools in the order in which the model gets them, with
	// [UnlistedTools] standing for all others; nil sorts everything (rule R4.4).
	ToolOrder []string
	// Transport runs programs; it can also be set later (rule R4.3).
	Transport Transport
	// Logger gets what was contained: panics of presenters, failing change
	// listeners. nil discards.
	Logger *slog.Logger
}

// Registry holds the tools of one process. It is safe for concurrent use (rule R1.1).
type Registry struct {
	mu     sync.RWMutex // guards every layer, version and mode below
	log    *slog.Logger
	mode   Mode
	order  []string
	global *core

	transports []*transportEntry
	version    uint64 // of what belongs to no layer: the transport
	guardSeq   uint64

	changes   Listeners[func(Change) error]
	assembles Listeners[AssembleFunc]
}

// New returns a registry with an empty global layer. It fails on a mode or a
// tool order that cannot be (rules R4.1, R4.4).
func New(o Options) (*Registry, error) {
	mode, err := ParseMode(string(o.Mode))
	if err != nil {
		return nil, err
	}
	if err := checkToolOrder(o.ToolOrder); err != nil {
		return nil, err
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Registry{log: log, mode: mode, order: slices.Clone(o.ToolOrder)}
	r.global = &core{reg: r, label: "global", life: NewOwner("global")}
	r.global.handle = &Scope{core: r.global}
	if o.Transport != nil {
		if _, err := r.SetTransport(o.Transport); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Global is the scope of everything that belongs to no agent (rule R1.1).
func (r *Registry) Global() *Scope { return r.global.handle }

// Logger is where contained failures go; never nil (rule R5.36).
func (r *Registry) Logger() *slog.Logger { return r.log }
