package openai

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model/assemble"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// tracker says to which call each delta belongs. Servers leave out the index,
// give all calls the same one, repeat name and id, or send them late; the rules
// are in the order of how much each sign can be trusted.
type tracker struct {
	b     *assemble.Builder
	tools *prepare.ToolSet
	calls []*tracked
}

type tracked struct {
	*assemble.Call
	index    int64
	hasIndex bool
}

// delta takes one element of tool_calls.
func (t *tracker) delta(v jsonvalue.Value) {
	f := v.Get("function")
	id, name := v.GetString("id"), f.GetString("name")
	args := ""
	if a := f.Get("arguments"); !a.IsUndefined() && !a.IsNull() {
		if s, ok := a.Str(); ok {
			args = s
		} else {
			args = a.String() // an object instead of its text
		}
	}
	index, hasIndex := v.Get("index").Int64()
	c := t.find(index, hasIndex, id, name)
	if c == nil {
		c = &tracked{Call: t.b.Call(id, name)}
		t.calls = append(t.calls, c)
	}
	if hasIndex && !c.hasIndex {
		c.index, c.hasIndex = index, true
	}
	c.SetID(id)
	if name != "" && name != c.Name() {
		c.SetName(t.goesOn(c, name))
	}
	c.Args(args)
	if x := v.Get(extraContent); x.IsObject() {
		c.Extra(extraContent, x)
	}
}

// find gives the call that a delta goes on with; nil when it begins one.
func (t *tracker) find(index int64, hasIndex bool, id, name string) *tracked {
	if len(t.calls) == 0 {
		return nil
	}
	if hasIndex {
		// The last call of that index: with the same one for all, the newest.
		for i := len(t.calls) - 1; i >= 0; i-- {
			if c := t.calls[i]; c.hasIndex && c.index == index {
				if t.begins(c, id, name) {
					return nil
				}
				return c
			}
		}
		// An index that comes late counts the calls so far.
		if index >= 0 && index < int64(len(t.calls)) {
			if c := t.calls[index]; !c.hasIndex && !t.begins(c, id, name) {
				return c
			}
		}
		if name != "" {
			return nil
		}
	}
	if id != "" {
		for i := len(t.calls) - 1; i >= 0; i-- {
			if c := t.calls[i]; c.ID() == id {
				if !hasIndex && t.begins(c, id, name) {
					return nil
				}
				return c
			}
		}
		if hasIndex {
			return nil
		}
		// A new id and no index: another call, or a made-up id for the next piece
		// of the one that is under way.
		last := t.calls[len(t.calls)-1]
		if last.ID() == "" && !t.begins(last, id, name) || name == "" && !finished(last.Arguments()) ||
			name == last.Name() && unfinished(last.Arguments()) {
			return last
		}
		return nil
	}
	last := t.calls[len(t.calls)-1]
	if hasIndex && last.hasIndex || t.begins(last, id, name) {
		return nil
	}
	return last
}

// begins reports whether a delta that points to c is in fact the beginning of
// another call.
func (t *tracker) begins(c *tracked, id, name string) bool {
	if name == "" {
		return false // whatever its id is: a call begins with its name
	}
	if c.Name() == "" {
		return false // the name comes late
	}
	if id != "" && c.ID() != "" && id != c.ID() {
		// Some make up a new id for every piece of one call. A call that is not
		// whole yet can only go on.
		return !(name == c.Name() && unfinished(c.Arguments()))
	}
	if id != "" && id == c.ID() {
		return name != c.Name() && !t.joins(c, name)
	}
	if name == c.Name() {
		return finished(c.Arguments())
	}
	return !t.joins(c, name)
}

// joins reports whether the name is another part of c's name, or more of it.
func (t *tracker) joins(c *tracked, name string) bool {
	return c.Arguments() == "" && !t.tools.Has(c.Name()) && t.goesOn(c, name) != ""
}

// goesOn is c's name when name has come as well: its next part, or all of it
// again; "" when it is neither.
func (t *tracker) goesOn(c *tracked, name string) string {
	switch joined := c.Name() + name; {
	case c.Name() == "":
		return name
	case t.tools.Begins(joined):
		return joined
	case strings.HasPrefix(name, c.Name()) && !t.tools.Has(c.Name()) && t.tools.Begins(name):
		return name
	}
	return ""
}

func finished(args string) bool {
	_, err := jsonvalue.ParseString(args)
	return err == nil && strings.TrimSpace(args) != ""
}

func unfinished(args string) bool { return strings.TrimSpace(args) != "" && !finished(args) }
