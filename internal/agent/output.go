package agent

import (
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// WatchOutput has watch called with the live output of the session's running
// calls, beside Config.Output. It replaces an earlier watcher; nil ends the
// watching. The bytes are only good during the call, which must not block: the
// command that writes them waits for it.
func (s *Session) WatchOutput(watch func(callID string, chunk []byte)) {
	if watch == nil {
		s.watch.Store(nil)
		return
	}
	s.watch.Store(&watch)
}

// CallOutput passes on live output of a call of this session: one of the
// model's, one that a program made, or a job. It is a preview outside the log,
// which the end of the call replaces.
func (s *Session) CallOutput(callID string, chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	if s.cfg.Conceal != nil {
		chunk = s.concealed(callID, chunk)
	}
	if s.cfg.Output != nil {
		s.cfg.Output(callID, chunk)
	}
	if watch := s.watch.Load(); watch != nil {
		(*watch)(callID, chunk)
	}
}

// Record appends an event to the session's log, at any time until Close has
// returned, also between turns: what runs in the background is logged with it.
func (s *Session) Record(eventType string, data jsonvalue.Value) error {
	_, err := s.append(eventType, data)
	return err
}

// news is what happened beside the turns, as events that tell the model.
func (s *Session) news() (told []session.Draft) {
	if s.cfg.News == nil {
		return nil
	}
	for _, c := range s.cfg.News(s.header.ID) {
		told = append(told, contextDraft(c))
	}
	return told
}

// concealed is live output without what nobody may see. What is kept back of a
// call whose output ends there is in its result.
func (s *Session) concealed(callID string, chunk []byte) []byte {
	s.live.Lock()
	defer s.live.Unlock()
	pass := s.live.of[callID]
	if pass == nil {
		if s.live.of == nil || len(s.live.of) >= maxLive {
			s.live.of = map[string]func([]byte, bool) []byte{}
		}
		pass = s.cfg.Conceal()
		s.live.of[callID] = pass
	}
	return pass(chunk, false)
}

// maxLive bounds what is kept for calls that end without a result of their own,
// such as those that programs make. Forgetting a call costs it what it kept back.
const maxLive = 1000

// concealing has a function for each call that has had live output.
type concealing struct {
	sync.Mutex
	of map[string]func(piece []byte, last bool) []byte
}

func (c *concealing) forget(callID string) {
	c.Lock()
	defer c.Unlock()
	delete(c.of, callID)
}
