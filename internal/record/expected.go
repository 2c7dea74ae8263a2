package record

import (
	"regexp"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

const uuid = `(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// expected is what the agent sent, with what differs from run to run made equal:
// ids by their first appearance, times, the working directory, sessions.
func (sc *scenario) expected() []byte {
	anyUUID := regexp.MustCompile(uuid)
	neutral := func(s string) string { return anyUUID.ReplaceAllString(sc.scrub(s), "{{sessionId}}") }
	streams := map[string]*stream{}
	for _, f := range sc.s.wire {
		if path, id := pieceOf(f); path != nil {
			if streams[id] == nil {
				streams[id] = &stream{}
			}
			text, _ := at(f, path).Str()
			streams[id].add(text)
		}
	}
	ids := map[string]int64{}
	var out []byte
	for _, f := range sc.s.wire {
		path, stream := pieceOf(f)
		v := mapText(f, neutral)
		if path != nil {
			v = set(v, path, jsonvalue.StringWTF8(streams[stream].next(neutral)))
		}
		if id := f.Get("id"); !id.IsUndefined() {
			if _, seen := ids[id.String()]; !seen {
				ids[id.String()] = int64(len(ids) + 1)
			}
			v = v.With("id", jsonvalue.Int(ids[id.String()]))
		}
		if u := []string{"params", "update", "updatedAt"}; !at(v, u).IsUndefined() {
			v = set(v, u, jsonvalue.String("{{updatedAt}}"))
		}
		out = append(out, encode(v)...)
	}
	return out
}

// pieceOf says where in a frame a piece of a streamed text stands, and of which
// text it is; nil when it holds none.
func pieceOf(f jsonvalue.Value) (path []string, stream string) {
	u := f.Get("params").Get("update")
	switch kind := u.GetString("sessionUpdate"); kind {
	case "agent_message_chunk", "agent_thought_chunk":
		if u.Get("content").GetString("type") == "text" {
			return []string{"params", "update", "content", "text"}, kind + u.GetString("messageId")
		}
	case "compaction_summary_chunk":
		if u.Get("content").GetString("type") == "text" {
			return []string{"params", "update", "content", "text"}, kind + u.GetString("compactionId")
		}
	case "tool_call_update":
		if o := u.Get("_meta").Get("terminal_output"); !o.Get("data").IsUndefined() {
			return []string{"params", "update", "_meta", "terminal_output", "data"}, kind + u.GetString("toolCallId")
		}
	}
	return nil, ""
}

func at(v jsonvalue.Value, path []string) jsonvalue.Value {
	for _, key := range path {
		v = v.Get(key)
	}
	return v
}

// set changes what stands at a path, which must be there.
func set(v jsonvalue.Value, path []string, to jsonvalue.Value) jsonvalue.Value {
	if len(path) == 0 {
		return to
	}
	return v.With(path[0], set(v.Get(path[0]), path[1:], to))
}
