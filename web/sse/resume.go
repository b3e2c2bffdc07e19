package sse

import (
	"strconv"
	"time"
)

// HeaderLastEventID is the request header with the last event that a
// reconnecting client received (WHATWG HTML, "Server-sent events").
const HeaderLastEventID = "Last-Event-ID"

// Event is an event from which the client can resume the stream.
type Event struct {
	ID    string // visible ASCII characters; may be empty
	Name  string // may be empty
	Retry time.Duration
	Data  [][]byte // parts; long ones are not copied and must not change afterwards
}

// head returns the lines before the data.
func (e *Event) head() []byte {
	b := make([]byte, 0, len(e.ID)+len(e.Name)+48)
	if e.ID != "" {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	if e.Retry > 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), e.Retry.Milliseconds(), 10), '\n')
	}
	return appendName(b, e.Name)
}

// SendWithID queues one event from which the client can resume the stream. id
// must be visible ASCII characters. It returns the result of Send.
func (s *Stream) SendWithID(id, event string, data []byte) bool {
	return s.SendEvent(&Event{ID: id, Name: event, Data: [][]byte{data}})
}

// SendEvent queues an event. It returns the result of Send.
func (s *Stream) SendEvent(e *Event) bool {
	frames := eventFrames(e.head(), e.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	if s.full(sizeOf(frames)) {
		s.abort()
		return false
	}
	s.pushFrames(frames, nil)
	return true
}

// OfferEvent queues an event that may be lost. It is dropped if the queue is
// full.
func (s *Stream) OfferEvent(e *Event) {
	frames := eventFrames(e.head(), e.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending && !s.full(sizeOf(frames)) {
		s.pushFrames(frames, nil)
	}
}

// EndWithEvent queues the last event and ends the stream as EndWith does. sent
// is called once when the event was sent or dropped.
func (s *Stream) EndWithEvent(e *Event, sent func()) {
	frames := eventFrames(e.head(), e.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		call(sent)
		return
	}
	s.pushFrames(frames, sent)
	s.end()
}

// Completed reports whether all events including the last were written to the
// connection.
func (s *Stream) Completed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.completed
}

// complete records that all events were written and sets the deadline of the
// last write.
func (s *Stream) complete() error {
	s.mu.Lock()
	s.completed = true
	s.mu.Unlock()
	return s.extend()
}
