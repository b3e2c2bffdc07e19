package sse

// HeaderLastEventID is how a browser that lost a stream says where it was
// (WHATWG HTML, "Server-sent events").
const HeaderLastEventID = "Last-Event-ID"

// SendWithID queues one message that the client can go on from when it loses
// the stream. id is of visible characters. It returns what Send does.
func (s *Stream) SendWithID(id, event string, data []byte) bool {
	return s.send(appendEvent(append(append([]byte("id: "), id...), '\n'), event, data))
}
