package fs

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
)

// version identifies the content of a file. Times are left out: a file that
// was touched, or rewritten with the same bytes, did not change.
type version struct {
	size int64
	hash [sha256.Size]byte
}

func versionOf(data []byte) version {
	return version{size: int64(len(data)), hash: sha256.Sum256(data)}
}

// maxObserved bounds how many files are remembered for one agent; the oldest
// is forgotten first, which costs its agent one more read.
const maxObserved = 10_000

// Observations remember, in memory, which version of which file each agent has
// seen: an agent changes only what it knows. The zero value is ready to use.
type Observations struct {
	mu     sync.Mutex
	agents map[string]*observed
}

type observed struct {
	files map[string]version // by real path
	order []string           // oldest first; may name files that are gone
}

func (o *Observations) get(agent, real string) (version, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a := o.agents[agent]; a != nil {
		v, ok := a.files[real]
		return v, ok
	}
	return version{}, false
}

func (o *Observations) put(agent, real string, v version) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.agents[agent]
	if a == nil {
		if o.agents == nil {
			o.agents = make(map[string]*observed)
		}
		a = &observed{files: make(map[string]version)}
		o.agents[agent] = a
	}
	if _, known := a.files[real]; !known {
		a.order = append(a.order, real)
	}
	a.files[real] = v
	for len(a.order) > maxObserved {
		delete(a.files, a.order[0])
		a.order = a.order[1:]
	}
}

func (o *Observations) drop(agent, real string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a := o.agents[agent]; a != nil {
		delete(a.files, real)
	}
}

// Forget drops what an agent has seen, once it has ended.
func (o *Observations) Forget(agent string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.agents, agent)
}

// Share lets an agent know what another has seen so far, as one does that begins
// with the other's conversation.
func (o *Observations) Share(from, to string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.agents[from]
	if a == nil || from == to {
		return
	}
	o.agents[to] = &observed{files: maps.Clone(a.files), order: slices.Clone(a.order)}
}
