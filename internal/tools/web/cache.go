package web

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// What is kept of a session's pages.
const (
	keptPages = 8
	keptFor   = 5 * time.Minute
)

// cache keeps the last pages of each session, so that a model that reads one
// twice asks its server once. The zero value is empty.
type cache struct {
	mu    sync.Mutex
	pages map[string][]kept // by session, the oldest first
}

type kept struct {
	url  string
	page *page
}

func (c *cache) get(session, url string) (*page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.pages[session] {
		if k.url == url && time.Since(k.page.at) < keptFor {
			return k.page, true
		}
	}
	return nil, false
}

func (c *cache) put(session, url string, p *page) {
	if session == "" {
		return // nobody would forget it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []kept
	for _, k := range c.pages[session] {
		if k.url != url && time.Since(k.page.at) < keptFor {
			list = append(list, k)
		}
	}
	if len(list) >= keptPages {
		list = list[len(list)-keptPages+1:]
	}
	if c.pages == nil {
		c.pages = map[string][]kept{}
	}
	c.pages[session] = append(list, kept{url, p})
}

func (c *cache) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pages, session)
}

// storable says whether a server lets its answer be kept.
func storable(h http.Header) bool {
	control := strings.ToLower(strings.Join(h.Values("Cache-Control"), ","))
	for _, no := range []string{"no-store", "no-cache", "max-age=0", "private"} {
		if strings.Contains(control, no) {
			return false
		}
	}
	return true
}
