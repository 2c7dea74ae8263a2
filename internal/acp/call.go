package acp

import (
	"context"
	"encoding/json"

	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// call makes a request of the client and waits for the answer; sent is called
// once the request has its place among what the client reads.
//
// When the connection ends under it, all turns have been cancelled before it
// returns. Else the call would have failed for its tool, and the turn would go on
// with the next request to the model, with nobody there.
func (s *Server) call(ctx context.Context, method string, params any, sent func()) (json.RawMessage, error) {
	raw, err := s.conn.CallNoting(ctx, method, params, sent)
	if err != nil && s.conn.Err() != nil {
		s.mu.Lock()
		live := make([]*liveSession, 0, len(s.sessions))
		for _, l := range s.sessions {
			live = append(live, l)
		}
		s.mu.Unlock()
		for _, l := range live {
			l.cancelTurns(agent.ErrDisposed)
		}
	}
	return raw, err
}

// sentNothing is for requests whose place among the others does not matter.
func sentNothing() {}
