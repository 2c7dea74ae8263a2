package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// roomOverhead is what the members of an envelope add to a payload, roughly.
const roomOverhead = 64

// appendJSON writes v as one line of JSON text without HTML escaping. Raw
// messages inside v are compacted and checked by the encoder; bytes that are no
// UTF-8 in them become replacement characters, since a frame has to be UTF-8.
//
// What has a Validate method is asked first, so that an invalid message of our
// own is an error here and not a riddle for the peer.
func appendJSON(buf *bytes.Buffer, v any) error {
	if err := validate(v); err != nil {
		return err
	}
	// Messages of a kind that comes by the thousand may know a shorter way.
	if short, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, bool)
	}); ok {
		if out, done := short.AppendJSON(buf.AvailableBuffer()); done {
			buf.Write(out)
			return nil
		}
	}
	start := buf.Len()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		buf.Truncate(start)
		return err
	}
	buf.Truncate(buf.Len() - 1) // the encoder's newline
	if !utf8.Valid(buf.Bytes()[start:]) {
		repaired := bytes.ToValidUTF8(buf.Bytes()[start:], []byte("\uFFFD"))
		buf.Truncate(start)
		buf.Write(repaired)
	}
	return nil
}

// InvalidError is what sending a message of our own gives that has no valid form.
// Nothing was sent.
type InvalidError struct {
	Method string
	Err    error // what is wrong with its parameters
}

// Error names the method and the fault.
func (e *InvalidError) Error() string {
	return "wire: parameters of " + e.Method + ": " + e.Err.Error()
}

// Unwrap gives the fault.
func (e *InvalidError) Unwrap() error { return e.Err }

// validate asks a message of our own whether it may be sent, if it can tell.
func validate(v any) error {
	if checked, ok := v.(interface{ Validate() error }); ok {
		return checked.Validate()
	}
	return nil
}

func jsonString(s string) []byte { return jsonvalue.String(s).AppendJSON(nil) }

// usualFrame is what a piece of streamed text takes with everything around it.
const usualFrame = 256

// requestFrame makes the line of a notification (id nil) or of a call.
func requestFrame(id []byte, method string, params any) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(usualFrame)
	buf.WriteString(`{"jsonrpc":"2.0",`)
	if id != nil {
		buf.WriteString(`"id":`)
		buf.Write(id)
		buf.WriteByte(',')
	}
	buf.WriteString(`"method":`)
	buf.Write(jsonString(method))
	if params != nil {
		buf.WriteString(`,"params":`)
		if err := appendJSON(&buf, params); err != nil {
			return nil, &InvalidError{Method: method, Err: err}
		}
	}
	buf.WriteString("}\n")
	return buf.Bytes(), nil
}

// replyFrame makes the line of an answer; member is "result" or "error", a nil
// id is written as null.
func replyFrame(id []byte, member string, payload any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString(`{"jsonrpc":"2.0","id":`)
	if id == nil {
		id = []byte("null")
	}
	buf.Write(id)
	buf.WriteString(`,"` + member + `":`)
	start := buf.Len()
	if err := appendJSON(&buf, payload); err != nil {
		return nil, err
	}
	if string(buf.Bytes()[start:]) == "null" {
		// No answer of ACP is null, and clients refuse one.
		buf.Truncate(start)
		buf.WriteString("{}")
	}
	buf.WriteString("}\n")
	return buf.Bytes(), nil
}
