package prepare

import "sync"

// Once tells each note a single time, as the same history is repaired again
// with every request. The zero value is ready; it is safe for concurrent use.
type Once struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

// maxSeen bounds what is remembered; after it everything is told again.
const maxSeen = 4096

// First reports whether the note is new for the session.
func (o *Once) First(session string, n Note) bool {
	key := session + "\x00" + n.Code + "\x00" + n.Message
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, told := o.seen[key]; told {
		return false
	}
	if o.seen == nil || len(o.seen) >= maxSeen {
		o.seen = map[string]struct{}{}
	}
	o.seen[key] = struct{}{}
	return true
}
