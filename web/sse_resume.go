package web

// HeaderLastEventID is how a browser that lost a stream says where it was
// (WHATWG HTML, "Server-sent events").
const HeaderLastEventID = "Last-Event-ID"

// SendWithID queues one message that the client can go on from when it loses
// the stream. id is of visible characters. It returns what Send does.
func (s *Stream) SendWithID(id, event string, data []byte) bool {
	frame := appendEvent(append(append([]byte("id: "), id...), '\n'), event, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	if s.full(len(frame)) {
		s.breakOff()
		return false
	}
	s.push(streamEvent{frame: frame})
	return true
}
