package prepare

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

const (
	maxName  = 64
	hashSize = 12
)

var (
	plainName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	hashed    = lazyregexp.New(`_[0-9a-f]{12}$`)
)

// WireName is the name of a tool as every server accepts it: the name itself
// when it is made of at most 64 letters, digits, "_" and "-", else what can be
// kept of it and a hash of the whole. A name that looks as if it had such a
// hash gets one as well, so two names never become one by design; [Tools] looks
// out for hashes that are the same by chance. It depends on nothing but the name, so
// a tool keeps its wire name whatever else is offered, and caches stay warm.
func WireName(name string) string {
	if plainName.MatchString(name) && !hashed.MatchString(name) {
		return name
	}
	kept := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '_'
	}, name)
	kept = kept[:min(len(kept), maxName-hashSize-1)]
	sum := sha256.Sum256([]byte(name))
	return kept + "_" + hex.EncodeToString(sum[:])[:hashSize]
}
