package sse

// HeaderLastEventID is the request header with the last event that a
// reconnecting browser received (WHATWG HTML, "Server-sent events").
const HeaderLastEventID = "Last-Event-ID"

// SendWithID queues one event from which the client can resume the stream. id
// must be visible ASCII characters. It returns the result of Send.
func (s *Stream) SendWithID(id, event string, data []byte) bool {
	return s.send(appendEvent(append(append([]byte("id: "), id...), '\n'), event, data))
}
