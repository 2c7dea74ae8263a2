package sdk

import "sync"

// DefaultCacheSize is how many tool sets a cache keeps: the ones of the sessions
// and subagents that are likely to be active at a time.
const DefaultCacheSize = 32

// Cache keeps the SDKs of the tool sets used last. Its key is whatever
// identifies a tool set for its caller, such as a scope, the version of its tools
// and the options; an unchanged key costs one map access. It is safe for
// concurrent use, and builds a key once however many ask for it at a time.
type Cache[K comparable] struct {
	size int

	mu      sync.Mutex
	entries map[K]*cacheEntry
	clock   uint64
}

type cacheEntry struct {
	used  uint64
	build func() *SDK
}

// NewCache returns a cache of a number of tool sets; 0 means DefaultCacheSize.
func NewCache[K comparable](size int) *Cache[K] {
	if size <= 0 {
		size = DefaultCacheSize
	}
	return &Cache[K]{size: size, entries: make(map[K]*cacheEntry)}
}

// Get returns the SDK of a key, built from what the function returns if the
// cache does not hold it.
func (c *Cache[K]) Get(key K, tools func() ([]Tool, Options)) *SDK {
	c.mu.Lock()
	c.clock++
	e := c.entries[key]
	if e == nil {
		e = &cacheEntry{build: sync.OnceValue(func() *SDK { return New(tools()) })}
		c.entries[key] = e
	}
	e.used = c.clock
	if len(c.entries) > c.size {
		c.evict()
	}
	build := e.build
	c.mu.Unlock()
	return build() // outside the lock: other keys need not wait
}

// evict drops the entry that was used least recently.
func (c *Cache[K]) evict() {
	var oldest K
	least := c.clock + 1
	for k, e := range c.entries {
		if e.used < least {
			oldest, least = k, e.used
		}
	}
	delete(c.entries, oldest)
}
