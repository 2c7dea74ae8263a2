package credentials

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Concealed stands where a key was.
const Concealed = "[key]"

// minGuarded is the length of the shortest key that is concealed, in bytes.
// Servers of one's own are given words such as "none" or "EMPTY", which would be
// taken out of every text; real keys are twice as long.
const minGuarded = 16

// Guard knows the keys that this process has seen, and takes them out of what is
// logged, shown and sent: a command, a file or a page can hold one, and the model
// can ask for it. A nil Guard conceals nothing. It is safe for concurrent use.
type Guard struct {
	mu   sync.Mutex
	keys atomic.Pointer[[]string]
}

// Learn adds keys to those that are concealed. What is too short for a key is
// not.
func (g *Guard) Learn(keys ...string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.known()
	for _, key := range keys {
		if len(key) < minGuarded || slices.Contains(known, key) {
			continue
		}
		known = append(slices.Clone(known), key)
	}
	// A key that holds another one goes first, or a part of it would stay.
	slices.SortStableFunc(known, func(a, b string) int { return len(b) - len(a) })
	g.keys.Store(&known)
}

func (g *Guard) known() []string {
	if g == nil {
		return nil
	}
	if p := g.keys.Load(); p != nil {
		return slices.Clone(*p)
	}
	return nil
}

// Text is s without keys.
func (g *Guard) Text(s string) string {
	if g == nil {
		return s
	}
	p := g.keys.Load()
	if p == nil {
		return s
	}
	for _, key := range *p {
		if strings.Contains(s, key) {
			s = strings.ReplaceAll(s, key, Concealed)
		}
	}
	return s
}

// Stream gives a function that takes keys out of a text that comes in pieces: it
// returns what can be passed on, and keeps back an end that may begin a key until
// more has come or the last piece is there. It is for one goroutine at a time, and
// does not keep what it is given.
func (g *Guard) Stream() func(piece []byte, last bool) []byte {
	held := ""
	return func(piece []byte, last bool) []byte {
		if held == "" && (g == nil || g.keys.Load() == nil) {
			return piece
		}
		text := g.Text(held + string(piece))
		held = ""
		if !last {
			n := g.beginning(text)
			text, held = text[:len(text)-n], text[len(text)-n:]
		}
		return []byte(text)
	}
}

// beginning is the length of the longest end of s that begins a key.
func (g *Guard) beginning(s string) int {
	longest := 0
	for _, key := range *g.keys.Load() {
		for n := min(len(key)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, key[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// Value is v without keys in any of its texts; v itself when it holds none.
// Names of members stay.
func (g *Guard) Value(v jsonvalue.Value) jsonvalue.Value {
	if g == nil || g.keys.Load() == nil || !g.holds(v) {
		return v
	}
	return g.conceal(v)
}

func (g *Guard) holds(v jsonvalue.Value) bool {
	if s, ok := v.Str(); ok {
		for _, key := range *g.keys.Load() {
			if strings.Contains(s, key) {
				return true
			}
		}
		return false
	}
	switch {
	case v.IsArray():
		for _, x := range v.Elements() {
			if g.holds(x) {
				return true
			}
		}
	case v.IsObject():
		for _, x := range v.Members() {
			if g.holds(x) {
				return true
			}
		}
	}
	return false
}

func (g *Guard) conceal(v jsonvalue.Value) jsonvalue.Value {
	if s, ok := v.Str(); ok {
		if t := g.Text(s); t != s {
			return jsonvalue.StringWTF8(t)
		}
		return v
	}
	switch {
	case v.IsArray():
		list := make([]jsonvalue.Value, 0, v.Len())
		for _, x := range v.Elements() {
			list = append(list, g.conceal(x))
		}
		return jsonvalue.Array(list...)
	case v.IsObject():
		ms := make([]jsonvalue.Member, 0, v.Len())
		for k, x := range v.Members() {
			ms = append(ms, jsonvalue.Member{Key: k, Value: g.conceal(x)})
		}
		return jsonvalue.Object(ms...)
	}
	return v
}
