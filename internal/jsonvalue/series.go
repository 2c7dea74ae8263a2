package jsonvalue

import (
	"slices"
	"strings"
)

// Series parses many texts of a few kinds, such as the lines of a log. Objects
// with the same keys share their list of keys from text to text, which saves a
// quarter of the memory of a log's events. The zero value is ready; it must not
// be used from several goroutines at once.
type Series struct {
	recent []*shape // the last used first
}

// seriesShapes bounds how many lists of keys are remembered: a log has a few
// dozen, and objects whose keys are data must not push those out for long.
const seriesShapes = 32

// Parse is [Parse].
func (s *Series) Parse(data []byte) (Value, error) { return parseText(string(data), s) }

// known finds a remembered list of keys, and makes it the last used.
func (s *Series) known(keys []string) *shape {
	for i, sh := range s.recent {
		if slices.Equal(sh.keys, keys) {
			copy(s.recent[1:i+1], s.recent[:i])
			s.recent[0] = sh
			return sh
		}
	}
	return nil
}

// shape makes a list of keys and remembers it. It holds copies, so that it keeps
// no text alive.
func (s *Series) shape(keys []string) *shape {
	own := make([]string, len(keys))
	for i, k := range keys {
		own[i] = strings.Clone(k)
	}
	sh := newShape(own)
	if len(s.recent) == seriesShapes {
		s.recent = s.recent[:seriesShapes-1]
	}
	s.recent = slices.Insert(s.recent, 0, sh)
	return sh
}
