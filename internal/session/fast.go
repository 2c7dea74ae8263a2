package session

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

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
	e, data, ok := plainLine(line, want)
	if !ok {
		return Event{}, false
	}
	v, err := parse.Parse(data)
	if err != nil {
		return Event{}, false
	}
	e.Data = v
	return e, true
}

// plainLine takes a line of that form apart. Nobody has looked at the data yet.
func plainLine(line []byte, want int64) (e Event, data []byte, ok bool) {
	c := cutter{rest: line}
	c.literal(`{"type":"`)
	name, rest, found := bytes.Cut(c.rest, []byte(`","seq":`))
	c.rest = rest
	e.Type = knownTypes[string(name)]
	e.Seq = c.number()
	c.literal(`,"time":`)
	e.Time = time.UnixMilli(c.number()).UTC()
	c.literal(`,"data":`)
	data, closed := bytes.CutSuffix(c.rest, []byte("}"))
	ok = found && closed && !c.failed && e.Type != "" && !IsSurface(e.Type) && e.Seq == want
	return e, data, ok
}

// plainText reports whether data is that of a piece of text,
//
//	{"turn":N,"step":N,"chunk":{"type":"text-delta","index":N,"text":"…"}}
//
// which is right beyond doubt and can be told without building anything. Escapes
// by number are left to the parser.
func plainText(data []byte) bool {
	c := cutter{rest: data}
	c.literal(`{"turn":`)
	c.number()
	c.literal(`,"step":`)
	c.number()
	c.literal(`,"chunk":{"type":"`)
	kind, rest, found := bytes.Cut(c.rest, []byte(`","index":`))
	c.rest = rest
	c.number()
	c.literal(`,"text":"`)
	text, closed := bytes.CutSuffix(c.rest, []byte(`"}}`))
	known := string(kind) == "text-delta" || string(kind) == "reasoning-delta"
	return found && closed && !c.failed && known && plainString(text)
}

// plainString reports whether text is right between quotes in JSON, with no other
// escapes than those of one letter.
func plainString(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c == '"':
			return false
		case c == '\\':
			if i++; i == len(text) || strings.IndexByte(`"\/bfnrt`, text[i]) < 0 {
				return false
			}
		}
	}
	return utf8.Valid(text)
}

// cutter cuts parts off the beginning of a text, until one is not there.
type cutter struct {
	rest   []byte
	failed bool
}

func (c *cutter) literal(text string) {
	if len(c.rest) < len(text) || string(c.rest[:len(text)]) != text {
		c.failed = true
		return
	}
	c.rest = c.rest[len(text):]
}

// number cuts off a JSON integer of at most 15 digits, without sign.
func (c *cutter) number() (n int64) {
	s, i := c.rest, 0
	for i < len(s) && i < 16 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || i > 15 || i > 1 && s[0] == '0' {
		c.failed = true
	}
	c.rest = s[i:]
	return n
}

// putOff takes a line with a piece of text without reading its data, if it can be
// told to be right: all but the last of them have done their work when the log has
// been read, and nobody will look at them. See readPutOff.
func (rec *Recording) putOff(line []byte) bool {
	e, data, ok := plainLine(line, rec.next)
	if !ok || !isChunk(e) || !plainText(data) {
		return false
	}
	rec.put = append(rec.put, postponed{index: len(rec.Events), begin: len(rec.putData)})
	rec.putData = append(rec.putData, data...)
	rec.add(e)
	return true
}

// postponed is an event whose data is to be read: where that begins in putData.
type postponed struct{ index, begin int }

// readPutOff reads the data of the events that stayed.
func (rec *Recording) readPutOff() error {
	end := len(rec.putData)
	for i := len(rec.put) - 1; i >= 0; i-- {
		p := rec.put[i]
		v, err := rec.parse.Parse(rec.putData[p.begin:end])
		if err != nil {
			return err
		}
		rec.Events[p.index].Data = v
		end = p.begin
	}
	rec.put, rec.putData = nil, nil
	return nil
}
