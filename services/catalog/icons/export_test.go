package icons

// Convert exposes convert to the tests of formats.
var Convert = convert

// Idle reports whether no icon is queued or being fetched.
func (s *Icons) Idle() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.pending) == 0
}
