package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// A packed row stands for a run of delta chunks of one block:
//
//	{"type":"text-chunks","seq0":N,"time0":MS,"data":{"turn":1,"step":1,"index":0,"dt":[…],"texts":[…]}}
//
// Member k has seq N+k and a time later than its predecessor's by dt[k-1]
// (which may be negative). Rows are read strictly: a row that is not understood
// in full would shift every later seq.

func isPacked(eventType string) bool {
	switch eventType {
	case "text-chunks", "reasoning-chunks", "tool-call-chunks":
		return true
	}
	return false
}

// maxSafe is the largest integer that a JavaScript writer can mean exactly.
const maxSafe = 1<<53 - 1

func unpack(v jsonvalue.Value, want int64) ([]Event, error) {
	kind := v.GetString("type")
	events, err := unpackRow(v, kind, want)
	if err != nil {
		return nil, fmt.Errorf("packed row %s: %w", kind, err)
	}
	return events, nil
}

func unpackRow(v jsonvalue.Value, kind string, want int64) ([]Event, error) {
	if err := exactKeys(v, "row", []string{"type", "seq0", "time0", "data"}, ""); err != nil {
		return nil, err
	}
	seq0, err := safeInt(v, "seq0")
	if err != nil {
		return nil, err
	}
	if seq0 != want {
		return nil, fmt.Errorf("seq0 is %d where %d must follow", seq0, want)
	}
	ms, err := safeInt(v, "time0")
	if err != nil {
		return nil, err
	}
	data := v.Get("data")
	keys, optional, list := []string{"turn", "step", "index", "dt", "texts"}, "", "texts"
	if kind == "tool-call-chunks" {
		keys, optional, list = []string{"turn", "step", "index", "dt", "id", "args"}, "name", "args"
	}
	if err := exactKeys(data, "data", keys, optional); err != nil {
		return nil, err
	}
	for _, key := range []string{"turn", "step", "index"} {
		if _, err := safeInt(data, key); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"id", "name"} {
		if x, ok := data.Lookup(key); ok {
			if _, ok := x.Str(); !ok {
				return nil, fmt.Errorf("%s is not a string", key)
			}
		}
	}
	deltas, gaps := data.Get(list), data.Get("dt")
	switch {
	case !deltas.IsArray() || deltas.Len() == 0:
		return nil, fmt.Errorf("%s is not an array with members", list)
	case !gaps.IsArray() || gaps.Len() != deltas.Len()-1:
		return nil, fmt.Errorf("dt must be an array of %d gaps, one fewer than %s", deltas.Len()-1, list)
	}

	build := deltaBuilder(kind, data)
	events := make([]Event, 0, deltas.Len())
	for i, delta := range deltas.Elements() {
		if _, ok := delta.Str(); !ok {
			return nil, fmt.Errorf("%s[%d] is not a string", list, i)
		}
		if i > 0 {
			gap, ok := gaps.At(i - 1).Int64()
			if !ok || gap < -maxSafe || gap > maxSafe {
				return nil, fmt.Errorf("dt[%d] is not a safe integer", i-1)
			}
			ms += gap
			if ms < -maxSafe || ms > maxSafe {
				return nil, errors.New("the times leave the range of safe integers")
			}
		}
		events = append(events, Event{
			Type: TypeAssistantChunk,
			Seq:  seq0 + int64(i),
			Time: time.UnixMilli(ms).UTC(),
			Data: build(delta),
		})
	}
	return events, nil
}

// deltaBuilder returns a function from a delta to the data of its event.
func deltaBuilder(kind string, data jsonvalue.Value) func(jsonvalue.Value) jsonvalue.Value {
	chunkType, deltaKey := model.ChunkTextDelta, "text"
	switch kind {
	case "reasoning-chunks":
		chunkType = model.ChunkReasoningDelta
	case "tool-call-chunks":
		chunkType, deltaKey = model.ChunkToolCallDelta, "argumentsDelta"
	}
	// With keeps the objects' shape shared, so an expanded row costs what the
	// same events cost when they were not packed.
	chunk := jsonvalue.Object(
		jsonvalue.Member{Key: "type", Value: jsonvalue.String(string(chunkType))},
		jsonvalue.Member{Key: "index", Value: data.Get("index")},
		jsonvalue.Member{Key: "id", Value: data.Get("id")},
		jsonvalue.Member{Key: "name", Value: data.Get("name")},
		jsonvalue.Member{Key: deltaKey, Value: jsonvalue.String("")},
	)
	event := jsonvalue.Object(
		jsonvalue.Member{Key: "turn", Value: data.Get("turn")},
		jsonvalue.Member{Key: "step", Value: data.Get("step")},
		jsonvalue.Member{Key: "chunk", Value: chunk},
	)
	return func(delta jsonvalue.Value) jsonvalue.Value {
		return event.With("chunk", chunk.With(deltaKey, delta))
	}
}

func exactKeys(v jsonvalue.Value, what string, required []string, optional string) error {
	if !v.IsObject() {
		return fmt.Errorf("%s is not an object", what)
	}
	n := v.Len()
	if optional != "" && v.IndexOf(optional) >= 0 {
		n--
	}
	for _, key := range required {
		if v.IndexOf(key) < 0 {
			return fmt.Errorf("%s has no %q", what, key)
		}
	}
	if n != len(required) {
		return fmt.Errorf("%s has members beyond %q", what, required)
	}
	return nil
}

func safeInt(v jsonvalue.Value, key string) (int64, error) {
	n, ok := v.Get(key).Int64()
	if !ok || n < -maxSafe || n > maxSafe {
		return 0, fmt.Errorf("%s is not a safe integer", key)
	}
	return n, nil
}
