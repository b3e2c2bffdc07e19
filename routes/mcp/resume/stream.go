package resume

import (
	"bytes"
	"context"
	"sync"

	"mcpgateway/web/sse"
)

// Stream is the response to a request as a stream of server-sent events. If it
// is resumable, it continues without a client, which can reconnect. It is safe
// for concurrent use.
type Stream struct {
	streams  *Streams // nil if the stream can't be resumed
	request  Request
	position Position // of the first event

	mu       sync.Mutex
	client   Client // nil while none is connected; always set if the stream can't be resumed
	leaving  bool   // the client has closed its end of the connection
	events   []event
	size     int             // of events
	losing   []chan struct{} // closed when the client disconnects
	sequence uint32
	ended    bool
	kept     bool     // final is retained
	final    [][]byte // the response; nil if there is none
	stored   bool
}

// event is a retained event.
type event struct {
	sequence uint32
	data     []byte
	lost     chan struct{} // closed if the event can't reach the client; may be nil
}

// Plain returns a stream that can't be resumed.
func Plain(client Client) *Stream { return &Stream{client: client} }

// Resumable reports whether clients can resume the stream.
func (st *Stream) Resumable() bool { return st.streams != nil }

// Attach sends the stream to its first client.
func (st *Stream) Attach(client Client) {
	if st.Resumable() {
		st.attach(client, 0)
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.client = client
}

// attach sends the events after a sequence number to a client, and those that
// follow. A previous client is disconnected. It returns false if the response is
// no longer retained.
func (st *Stream) attach(client Client, after uint32) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended && !st.kept {
		return false
	}
	if st.client != nil {
		st.client.End()
	}
	st.client, st.leaving = client, false
	client.SendEvent(&sse.Event{ID: st.id(after, false), Retry: retry})
	for _, e := range st.events {
		if e.sequence > after {
			client.SendEvent(&sse.Event{ID: st.id(e.sequence, false), Name: messageEvent, Data: [][]byte{e.data}})
		}
	}
	if st.ended {
		client.EndWithEvent(st.last(st.final), nil)
	}
	return true
}

// Detach must be called after the client has disconnected. A response that it
// did not receive is stored.
func (st *Stream) Detach(client Client) {
	if !st.Resumable() {
		return
	}
	st.mu.Lock()
	if st.client != client {
		st.mu.Unlock()
		return
	}
	st.client = nil
	for _, lost := range st.losing {
		close(lost)
	}
	st.losing = nil
	store := st.ended && st.kept && !st.stored && !client.Completed()
	st.stored = st.stored || store
	final := st.final
	st.mu.Unlock()
	if store {
		st.store(final)
	}
}

// Leave records that the client has closed its end of the connection. It may
// still read, but the response is stored.
func (st *Stream) Leave(client Client) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.leaving = st.leaving || st.client == client
}

// Break disconnects the client at once.
func (st *Stream) Break() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.client != nil {
		st.client.Break()
	}
}

// Send sends a message. After Finish it does nothing.
func (st *Stream) Send(data []byte) { st.send(data, "", nil) }

// Offer sends a message that may be lost if the client is slow. key is that of
// sse.Stream.Offer.
func (st *Stream) Offer(key string, data []byte) { st.send(data, key, nil) }

// Ask sends a request to the client. lost is closed when the request can't reach
// it any more. ok is false if it never can.
func (st *Stream) Ask(data []byte) (lost <-chan struct{}, ok bool) {
	if !st.Resumable() {
		return st.client.Done(), st.client.Send(messageEvent, data)
	}
	c := make(chan struct{})
	return c, st.send(data, "", c)
}

func (st *Stream) send(data []byte, key string, lost chan struct{}) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.ended:
		return false
	case !st.Resumable() && key != "":
		st.client.Offer(messageEvent, key, data)
		return true
	case !st.Resumable():
		return st.client.Send(messageEvent, data)
	}
	st.sequence++
	if st.client != nil {
		e := &sse.Event{ID: st.id(st.sequence, false), Name: messageEvent, Data: [][]byte{data}}
		if key != "" {
			st.client.OfferEvent(e)
		} else {
			st.client.SendEvent(e)
		}
	}
	st.retain(event{st.sequence, data, lost})
	return true
}

// retain retains an event and removes the oldest beyond the limits. The caller
// must hold mu.
func (st *Stream) retain(e event) {
	if len(e.data) > maxBytes || !st.streams.reserve(sizeOf(e)) {
		st.lose(e)
		return
	}
	st.events = append(st.events, e)
	st.size += len(e.data)
	for len(st.events) > maxEvents || st.size > maxBytes {
		st.removeFirst()
	}
}

// removeFirst removes the oldest event. The caller must hold mu.
func (st *Stream) removeFirst() {
	e := st.events[0]
	st.events[0] = event{} // releases its data
	st.events = st.events[1:]
	st.size -= len(e.data)
	st.streams.release(sizeOf(e))
	st.lose(e)
}

// lose reports that an event is lost, at the latest when the client that
// received it disconnects. The caller must hold mu.
func (st *Stream) lose(e event) {
	switch {
	case e.lost == nil:
	case st.client == nil:
		close(e.lost)
	default:
		st.losing = append(st.losing, e.lost)
	}
}

// Finish ends the stream with the response in parts, which must not change
// afterwards, or without one if parts is nil. Without a connected client, the
// response is stored. sent is called once when the parts are no longer being
// sent.
func (st *Stream) Finish(parts [][]byte, sent func()) {
	st.mu.Lock()
	st.ended = true
	if st.Resumable() {
		st.keep(parts)
	}
	client := st.client
	switch {
	case client == nil:
	case st.Resumable() || parts != nil:
		client.EndWithEvent(st.last(parts), sent)
	default:
		client.End()
	}
	st.stored = st.Resumable() && (client == nil || st.leaving)
	store := st.stored
	st.mu.Unlock()
	if store {
		st.store(parts)
	}
	if client == nil || !st.Resumable() && parts == nil {
		sent()
	}
}

// keep retains the response if it fits. The caller must hold mu.
func (st *Stream) keep(parts [][]byte) {
	size := int64(entrySize)
	for _, part := range parts {
		size += int64(len(part))
	}
	if !st.streams.reserve(size) {
		for len(st.events) > 0 {
			st.removeFirst()
		}
		st.streams.drop(st)
		return
	}
	for _, e := range st.events {
		size += sizeOf(e)
	}
	st.final, st.kept = parts, true
	st.streams.keep(st, size)
}

// store stores the response for all processes.
func (st *Stream) store(parts [][]byte) {
	r := &st.request
	st.streams.results.Store(context.Background(), r.ProjectID, r.Session, st.position.row(), bytes.Join(parts, nil))
}

// last returns the last event, with the response.
func (st *Stream) last(parts [][]byte) *sse.Event {
	switch {
	case !st.Resumable():
		return &sse.Event{Name: messageEvent, Data: parts}
	case parts == nil:
		return &sse.Event{ID: st.id(st.sequence+1, true)}
	default:
		return &sse.Event{ID: st.id(st.sequence+1, true), Name: messageEvent, Data: parts}
	}
}

// id returns the id of the event with a sequence number.
func (st *Stream) id(sequence uint32, last bool) string {
	return st.position.at(sequence, last).token(st.streams.keys)
}

// sizeOf returns the memory counted for an event.
func sizeOf(e event) int64 { return int64(len(e.data)) + entrySize }
