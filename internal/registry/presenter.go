package registry

// Presenter finds the tool whose cards show the calls of a name: what the scope
// sees, and run_code in every mode, for a session that ran programs may be shown
// where Code Mode is off (rule R12.2).
func (s *Scope) Presenter(name string) (*Tool, bool) {
	if t, ok := s.Get(name); ok || name != RunCode {
		return t, ok
	}
	r := s.core.reg
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.transport().tool
	return t, t != nil
}
