package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

type messageKind uint8

const (
	kindRequest messageKind = iota + 1
	kindNotification
	kindResponse
)

// envelope is a JSON-RPC message cut into its members, which alias the line.
type envelope struct {
	kind   messageKind
	id     json.RawMessage // as sent; nil when absent or unusable
	rawKey json.RawMessage // the method as a JSON string
	method string
	params json.RawMessage // nil when absent or null
	result json.RawMessage
	err    json.RawMessage // nil when absent or null
	hollow bool            // it has neither a method nor a result nor an error
}

// parseEnvelope reads one line. A fault is what the peer has to be told; the
// envelope then carries the id to answer to, nil for none.
func parseEnvelope(line []byte) (envelope, *protocol.Error) {
	var env envelope
	if !utf8.Valid(line) {
		return env, protocol.ParseError("the line is not valid UTF-8")
	}
	if !json.Valid(line) {
		return env, protocol.ParseError(syntaxFault(line))
	}
	if line[0] == '[' {
		return env, protocol.InvalidRequest("batches are not part of ACP; send one object a line")
	}
	if line[0] != '{' {
		return env, protocol.InvalidRequest("a message must be a JSON object")
	}

	var id, method, version json.RawMessage
	var hasParams, hasResult bool
	eachMember(line, func(key, value []byte) {
		switch string(key) {
		case `"jsonrpc"`:
			version = value
		case `"id"`:
			id = value
		case `"method"`:
			method = value
		case `"params"`:
			env.params, hasParams = nullToNil(value), true
		case `"result"`:
			env.result, hasResult = value, true
		case `"error"`:
			env.err = nullToNil(value)
		}
	})
	idFault := checkID(id)
	if idFault == "" && string(id) != "null" {
		env.id = id
	}

	switch isResponse := hasResult || env.err != nil; {
	case method == nil && isResponse:
		env.kind = kindResponse
		return env, nil
	case method == nil:
		env.hollow = true
		return env, protocol.InvalidRequest("a message needs a method, a result or an error")
	case method[0] != '"':
		return env, protocol.InvalidRequest("method must be a string")
	case isResponse:
		return env, protocol.InvalidRequest("a message cannot be a request and an answer at once")
	case string(id) == "null":
		return env, protocol.InvalidRequest("the id of a request must not be null")
	case idFault != "":
		return env, protocol.InvalidRequest(idFault)
	case version != nil && string(version) != `"2.0"`:
		return env, protocol.InvalidRequest(`jsonrpc must be "2.0"`)
	}
	// A missing jsonrpc member is let pass: nothing depends on it, and hand-made
	// clients forget it.

	env.rawKey = method
	if err := json.Unmarshal(method, &env.method); err != nil {
		return env, protocol.InvalidRequest("method is not a usable string")
	}
	env.kind = kindRequest
	if id == nil {
		env.kind = kindNotification
	}
	if hasParams && env.params != nil && env.params[0] != '{' && env.params[0] != '[' {
		return env, protocol.InvalidParams("", "params must be an object")
	}
	return env, nil
}

func nullToNil(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// checkID says what is wrong with a raw id, "" for nothing. Absent and null
// ids are for the caller to judge.
func checkID(id json.RawMessage) string {
	if id == nil || string(id) == "null" || id[0] == '"' {
		return ""
	}
	if c := id[0]; c != '-' && (c < '0' || c > '9') {
		return "the id must be a string or an integer"
	}
	if bytes.ContainsAny(id, ".eE") {
		return "a numeric id must be an integer"
	}
	return ""
}

// idKey gives equal ids equal keys: strings by their value, integers by their
// digits.
func idKey(id json.RawMessage) string {
	if len(id) > 0 && id[0] == '"' {
		var s string
		if json.Unmarshal(id, &s) == nil {
			return "s" + s
		}
	}
	if string(id) == "-0" {
		return "n0"
	}
	return "n" + string(id)
}

func syntaxFault(line []byte) string {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(line, new(any)); errors.As(err, &syntax) {
		return fmt.Sprintf("%s at byte %d of the line", syntax.Error(), syntax.Offset)
	}
	return "the line is not JSON text"
}

// eachMember calls f for each member of a valid JSON object: the key as a JSON
// string (escapes resolved when there are any) and the value's bytes. It walks
// the text without building anything, so that a large message is not copied.
func eachMember(object []byte, f func(key, value []byte)) {
	i := skipSpace(object, 1)
	for i < len(object) && object[i] == '"' {
		end := skipString(object, i)
		key := object[i:end]
		if bytes.IndexByte(key, '\\') >= 0 {
			var s string
			if json.Unmarshal(key, &s) == nil {
				key, _ = json.Marshal(s)
			}
		}
		i = skipSpace(object, end)
		i = skipSpace(object, i+1) // the colon
		end = skipValue(object, i)
		f(key, object[i:end:end])
		i = skipSpace(object, end)
		i = skipSpace(object, i+1) // a comma, or the closing brace
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
