package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// catalogueTimeout bounds one look at a provider's list of models.
const catalogueTimeout = 15 * time.Second

// Catalogue knows the models that can be chosen, provider by provider. Lists are
// fetched once, in the background: nobody waits for a slow server unless they
// want to. It is safe for concurrent use.
type Catalogue struct {
	log    *slog.Logger
	cancel context.CancelFunc
	ctx    context.Context
	wait   sync.WaitGroup

	mu    sync.Mutex
	lists []*modelList
}

// ProviderModels are the models of one provider, the best default first.
type ProviderModels struct {
	Provider string
	Models   []model.Info
}

type modelList struct {
	provider model.Provider
	models   []model.Info
	done     chan struct{} // of the fetch that runs or ran last; nil when there is none that counts
	known    bool
}

// NewCatalogue makes the catalogue of some providers. Close ends what it fetches.
func NewCatalogue(log *slog.Logger, providers ...model.Provider) *Catalogue {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Catalogue{log: log}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for _, p := range providers {
		c.lists = append(c.lists, &modelList{provider: p})
	}
	return c
}

// Close ends the fetches and waits for them.
func (c *Catalogue) Close() {
	c.cancel()
	c.wait.Wait()
}

// Fetch looks the lists up, those that are not known yet, and returns when they
// are there or have failed, or when ctx ends. It says whether all are known. A
// list that failed is looked up again by the next Fetch.
func (c *Catalogue) Fetch(ctx context.Context) bool {
	c.mu.Lock()
	var pending []chan struct{}
	for _, l := range c.lists {
		if l.known {
			continue
		}
		if l.done == nil || isClosed(l.done) {
			c.start(l)
		}
		pending = append(pending, l.done)
	}
	c.mu.Unlock()
	for _, done := range pending {
		select {
		case <-done:
		case <-ctx.Done():
			if !isClosed(done) { // a list that came in the last moment counts
				return false
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(c.lists, func(l *modelList) bool { return !l.known })
}

func isClosed(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// start fetches one list. The caller holds mu.
func (c *Catalogue) start(l *modelList) {
	l.done = make(chan struct{})
	done := l.done
	c.wait.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(c.ctx, catalogueTimeout)
		defer cancel()
		models, err := l.provider.Models(ctx)
		if err != nil {
			c.log.Warn("the models of a provider could not be listed", "provider", l.provider.ProviderID(), "err", err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.done == done { // else it was forgotten meanwhile
			l.models, l.known = models, true
		}
	})
}

// Forget drops the lists, because who answers for them has changed; the next
// Fetch looks them up again.
func (c *Catalogue) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lists {
		l.known, l.models, l.done = false, nil, nil
	}
}

// Known gives the lists that are there, without waiting.
func (c *Catalogue) Known() []ProviderModels {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]ProviderModels, len(c.lists))
	for i, l := range c.lists {
		out[i] = ProviderModels{Provider: l.provider.ProviderID(), Models: slices.Clone(l.models)}
	}
	return out
}

// provider finds a provider by its id; nil when there is none.
func (c *Catalogue) provider(id string) model.Provider {
	for _, l := range c.lists { // fixed after NewCatalogue
		if l.provider.ProviderID() == id {
			return l.provider
		}
	}
	return nil
}

// info finds a model that is known.
func (c *Catalogue) info(provider, id string) (model.Info, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lists {
		if l.provider.ProviderID() != provider {
			continue
		}
		for _, m := range l.models {
			if m.ID == id {
				return m, true
			}
		}
	}
	return model.Info{}, false
}
