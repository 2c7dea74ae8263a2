package session

import (
	"bytes"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// plainEvent reads a line of exactly the form in which most are written,
//
//	{"type":"…","seq":N,"time":N,"data":…}
//
// without building the object around the data: nearly all lines of a log are
// chunks, and this saves a third of the allocations that loading makes. It
// reports false for every other line, right or wrong; those are read the slow
// way, which also finds the words for what is wrong.
//
// That the rest of the line but its last brace is one JSON value proves the
// form: no other member can follow.
func plainEvent(parse *jsonvalue.Series, line []byte, want int64) (Event, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	if !ok {
		return Event{}, false
	}
	name, rest, ok := bytes.Cut(rest, []byte(`","seq":`))
	if !ok {
		return Event{}, false
	}
	eventType, ok := knownTypes[string(name)]
	if !ok || IsSurface(eventType) {
		return Event{}, false
	}
	seq, rest, ok := cutInt(rest)
	if !ok || seq != want {
		return Event{}, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"time":`)); !ok {
		return Event{}, false
	}
	ms, rest, ok := cutInt(rest)
	if !ok {
		return Event{}, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"data":`)); !ok {
		return Event{}, false
	}
	if rest, ok = bytes.CutSuffix(rest, []byte("}")); !ok {
		return Event{}, false
	}
	data, err := parse.Parse(rest)
	if err != nil {
		return Event{}, false
	}
	return Event{Type: eventType, Seq: seq, Time: time.UnixMilli(ms).UTC(), Data: data}, true
}

// cutInt cuts a JSON integer of at most 15 digits, without sign, off s.
func cutInt(s []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		if i == 15 {
			return 0, nil, false
		}
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i > 1 && s[0] == '0' {
		return 0, nil, false
	}
	return n, s[i:], true
}
