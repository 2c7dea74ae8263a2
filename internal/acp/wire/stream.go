package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// frameField is the extra field of a library request under which the finished
// line of one of our own messages travels to the stream.
const frameField = "frame"

// stream is the library's view of the connection. Incoming messages are reduced
// to a stub (our own number for the id, no parameters, no result); the rest
// waits in Conn until the library has done its part. Outgoing messages arrive
// here finished: the OnSend hook, which the library calls under its sending
// lock right before WriteObject, says which line is meant.
type stream struct {
	c     *Conn
	lines *lineReader

	// current is the request behind the stub handed up last. The library reads
	// and handles on one goroutine, so nothing else touches it.
	current *Request
	// outgoing is set by onSend and used by WriteObject, both under the
	// library's sending lock.
	outgoing outFrame
}

// ReadObject hands up the next message that is one, and sees to all others. At
// the end of input it tells the connection and waits for Close, because the
// library would refuse to write from then on.
func (s *stream) ReadObject(v any) error {
	// The library reads before NewConn has returned.
	<-s.c.ready
	for {
		line, err := s.lines.next()
		switch {
		case errors.Is(err, errLineTooLong):
			s.c.reject(nil, protocol.InvalidRequest(fmt.Sprintf(
				"the line is longer than %d bytes and was skipped", s.lines.max)))
			continue
		case err != nil:
			s.c.inputEnded(err)
			<-s.c.closing
			return io.EOF
		case s.c.ctx.Err() != nil:
			// The connection has ended otherwise; what still comes in is dropped,
			// but read, so that the peer is not stuck.
			continue
		}
		if s.c.opts.Trace != nil {
			s.c.opts.Trace(true, line)
		}
		env, fault := parseEnvelope(line)
		if fault != nil {
			if number, ok := s.hollow(env); ok {
				return json.Unmarshal(answerStub(number), v)
			}
			if env.kind != kindNotification {
				s.c.reject(env.id, fault)
			} else {
				s.c.log.Debug("notification dropped", "method", env.method, "fault", fault.Message)
			}
			continue
		}
		stub := s.admit(env)
		if stub == nil {
			continue
		}
		return json.Unmarshal(stub, v)
	}
}

// admit files a message away and returns the stub for the library, nil when the
// library has no business with it.
func (s *stream) admit(env envelope) []byte {
	switch env.kind {
	case kindResponse:
		number, ok := s.c.settle(env)
		if !ok {
			s.c.log.Debug("answer to nothing ignored", "id", string(env.id))
			return nil
		}
		return answerStub(number)
	case kindNotification:
		if env.method == protocol.MethodCancelRequest {
			s.c.cancelIncoming(env.params)
			return nil
		}
		s.current = s.c.newRequest(env)
		return []byte(`{"method":` + string(env.rawKey) + `}`)
	default:
		if strings.HasPrefix(env.method, "$/") {
			// That part of the name space holds notifications only.
			s.c.reject(env.id, protocol.MethodNotFound(env.method))
			return nil
		}
		s.current = s.c.newRequest(env)
		return []byte(`{"id":` + strconv.FormatUint(s.current.number, 10) + `,"method":` + string(env.rawKey) + `}`)
	}
}

// hollow takes a message with nothing but the id of a call of ours for an answer
// without a result. Whoever waits must hear that it was no answer; and a refusal
// would carry an id that may be the one of a request of the peer.
func (s *stream) hollow(env envelope) (uint64, bool) {
	if !env.hollow || env.id == nil {
		return 0, false
	}
	return s.c.settle(env)
}

func answerStub(number uint64) []byte {
	return []byte(`{"id":` + strconv.FormatUint(number, 10) + `,"result":0}`)
}

// onSend notes which line the coming WriteObject means.
func (s *stream) onSend(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	s.outgoing = outFrame{}
	switch {
	case req != nil:
		for _, f := range req.ExtraFields {
			if frame, ok := f.Value.(outFrame); ok && f.Name == frameField {
				s.outgoing = frame
			}
		}
	case resp != nil:
		s.outgoing = s.c.replyFrameOf(resp.ID.Num)
	}
}

// WriteObject queues the line that onSend noted. It never blocks: the room was
// granted before.
func (s *stream) WriteObject(any) error {
	frame := s.outgoing
	s.outgoing = outFrame{}
	if frame.line == nil {
		return errors.New("wire: a message without a line")
	}
	return s.c.q.push(frame)
}

// Close has nothing to do: Conn owns both ends.
func (s *stream) Close() error { return nil }
