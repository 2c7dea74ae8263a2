package mcp

import (
	"bytes"
	"io"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// orderedBody annotates the forms in a stream of events, as [keepOrder] does for
// other transports: of the streamable one the library takes no wrapped connection.
// Everything else passes as it came.
func orderedBody(resp *http.Response) io.ReadCloser {
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return resp.Body
	}
	return &ordered{body: resp.Body}
}

// ordered is such a stream. It holds back an event until it is whole, which
// delays nothing: nobody can read a part of one.
type ordered struct {
	body io.ReadCloser
	buf  [16 << 10]byte
	held []byte // of an event that is not whole
	scan int    // how much of held has no end of an event in it
	out  []byte // to be read
	err  error  // of body
}

// Read reads on.
func (o *ordered) Read(p []byte) (int, error) {
	for len(o.out) == 0 && o.err == nil {
		n, err := o.body.Read(o.buf[:])
		o.held = append(o.held, o.buf[:n]...)
		for {
			at, size := eventEndFrom(o.held, o.scan)
			if at < 0 {
				o.scan = len(o.held)
				break
			}
			o.out = append(o.out, withOrder(o.held[:at])...)
			o.out = append(o.out, o.held[at:at+size]...)
			o.held, o.scan = o.held[at+size:], 0
		}
		if o.err = err; err != nil || len(o.held) > maxMessage {
			o.out, o.held, o.scan = append(o.out, o.held...), nil, 0
		}
	}
	if len(o.out) == 0 {
		return 0, o.err
	}
	n := copy(p, o.out)
	if o.out = o.out[n:]; len(o.out) == 0 {
		o.out = nil
	}
	return n, nil
}

// Close closes the stream.
func (o *ordered) Close() error { return o.body.Close() }

// withOrder annotates the form that an event asks for; other events stay.
func withOrder(event []byte) []byte {
	if !bytes.Contains(event, []byte("requestedSchema")) {
		return event
	}
	msg, err := jsonrpc.DecodeMessage(eventData(event))
	if err != nil {
		return event
	}
	keepOrder(msg)
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return event
	}
	var out []byte
	for line := range bytes.Lines(event) {
		if !bytes.HasPrefix(line, []byte("data:")) {
			out = append(out, bytes.TrimRight(line, "\r\n")...)
			out = append(out, '\n')
		}
	}
	return append(append(out, "data: "...), data...)
}
