package mcp

// OpenStreams returns how many streams of clients are open.
func (e *Endpoint) OpenStreams() int {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	return e.slots.total
}
