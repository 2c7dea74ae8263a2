package agent

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
	if s.cfg.Output != nil {
		s.cfg.Output(callID, chunk)
	}
	if watch := s.watch.Load(); watch != nil {
		(*watch)(callID, chunk)
	}
}
