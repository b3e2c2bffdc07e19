// Package sse sends server-sent events. It has streams with a bounded queue,
// which any goroutine may write to, and parses the Accept header.
package sse

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Limits of one stream.
const (
	MaxStreamMessages = 256              // queued events
	MaxStreamBytes    = 4 << 20          // size of the queued events
	StreamKeepAlive   = 15 * time.Second // between comments on an idle stream
	streamWriteTime   = 10 * time.Second // per write; shorter than a shutdown
	streamWriteSize   = 64 << 10         // bytes per write
)

// MIMEEventStream is the media type of server-sent events (WHATWG HTML,
// "Server-sent events").
const MIMEEventStream = "text/event-stream"

// errStreamEnded ends an incomplete stream. The server then closes the
// connection, so that the client detects it.
var errStreamEnded = errors.New("stream ended early")

// Stream is a response of server-sent events. It is safe for concurrent use.
// Events wait in a bounded queue until the client reads them; a client that
// doesn't read loses its stream. Sending to an ended stream does nothing.
type Stream struct {
	options StreamOptions
	conn    net.Conn
	wake    chan struct{}   // has a token when there is work to do
	stopped <-chan struct{} // closed when the server shuts down; nil without Stop
	over    chan struct{}   // closed when nothing can reach the client any longer
	written chan struct{}   // for ServeEarly; closed after the last write

	mu     sync.Mutex
	room   *sync.Cond // uses mu; signaled when events were taken or the stream ends
	queue  []streamEvent
	bytes  int
	ending bool // the queue accepts no more events
	broken bool // queued events are not sent either
	closed bool

	completed bool   // everything was written, including the end
	rest      []byte // taken but not yet returned by Read

	writing []func() // called when the current batch was written
}

type streamEvent struct {
	frame []byte
	key   string // allows a newer event to replace this one
	sent  func() // called when the event was sent or dropped; may be nil
}

// StreamOptions configure a stream.
type StreamOptions struct {
	// KeepAlive is the time between comments on an idle stream; 0 means
	// StreamKeepAlive.
	KeepAlive time.Duration
	// Alive is called before anything is sent, including comments, and reports
	// whether the stream may continue. If it returns false, queued events are
	// dropped and the stream ends. It may be nil.
	Alive func() bool
	// Stop is called when the server shuts down and ends the stream, which
	// could otherwise delay the shutdown forever. It is nil for streams that
	// end with their call.
	Stop func()
	// Closed is called once when nothing can reach the client any longer.
	Closed func()
}

// NewStream returns a stream for the request's client. It queues events until
// the response starts.
func NewStream(c *fiber.Ctx, options StreamOptions) *Stream {
	if options.KeepAlive == 0 {
		options.KeepAlive = StreamKeepAlive
	}
	s := &Stream{options: options, conn: c.Context().Conn(), wake: make(chan struct{}, 1), over: make(chan struct{})}
	s.room = sync.NewCond(&s.mu)
	if options.Stop != nil {
		s.stopped = c.Context().Done() // closed at shutdown, independently of the request
	}
	return s
}

// Respond responds to the request with the stream. The headers are sent at once,
// the events after the handler has returned. The error is always nil.
func (s *Stream) Respond(c *fiber.Ctx) error {
	s.announce(c)
	response := c.Response()
	response.ImmediateHeaderFlush = true
	response.SetBodyStream(s, -1)
	if err := s.extend(); err != nil {
		s.Break() // the connection is closed; the next write reports it
	}
	return nil
}

func (s *Stream) announce(c *fiber.Ctx) {
	c.Status(fiber.StatusOK)
	c.Set(fiber.HeaderContentType, MIMEEventStream)
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set("X-Accel-Buffering", "no") // a buffering proxy would delay the events
}

// Discard ends a stream that was never used as a response.
func (s *Stream) Discard() { _ = s.Close() }

// Done returns a channel that is closed when nothing can reach the client any
// longer: it disconnected, or the stream ended.
func (s *Stream) Done() <-chan struct{} { return s.over }

// Send queues one event. event is its name, or empty. It returns false if the
// stream has ended or its queue is full. A full queue ends the stream, because
// an event must not be lost unnoticed.
func (s *Stream) Send(event string, data []byte) bool {
	return s.send(appendEvent(nil, event, data))
}

// send is like Send for an encoded event.
func (s *Stream) send(frame []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	if s.full(len(frame)) {
		s.abort()
		return false
	}
	s.push(streamEvent{frame: frame})
	return true
}

// SendBlocking queues one event and waits while the queue is full. It returns
// false if the stream has ended.
func (s *Stream) SendBlocking(event string, data []byte) bool {
	frame := appendEvent(nil, event, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ending && s.full(len(frame)) {
		s.room.Wait()
	}
	if s.ending {
		return false
	}
	s.push(streamEvent{frame: frame})
	return true
}

// Offer queues an event that may be lost, such as progress. If the queue is
// full, the event replaces the last queued one if both have the same key.
// Otherwise it is dropped. The key must not be empty.
func (s *Stream) Offer(event, key string, data []byte) {
	frame := appendEvent(nil, event, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return
	}
	if !s.full(len(frame)) {
		s.push(streamEvent{frame: frame, key: key})
		return
	}
	if last := len(s.queue) - 1; last >= 0 && s.queue[last].key == key {
		s.bytes += len(frame) - len(s.queue[last].frame)
		s.queue[last].frame = frame
	}
}

// Comment queues a comment, which clients ignore.
func (s *Stream) Comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending && !s.full(len(streamComment)) {
		s.push(streamEvent{frame: []byte(streamComment)})
	}
}

// End ends the stream after the queued events.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// EndWith queues the last events, regardless of the limits of the queue, and
// ends the stream after them.
func (s *Stream) EndWith(event string, messages ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return
	}
	for _, data := range messages {
		s.push(streamEvent{frame: appendEvent(nil, event, data)})
	}
	s.end()
}

// full reports whether more bytes would exceed the limits of the queue. A
// single event never does.
func (s *Stream) full(more int) bool {
	return len(s.queue) >= MaxStreamMessages || len(s.queue) > 0 && s.bytes+more > MaxStreamBytes
}

func (s *Stream) push(e streamEvent) {
	s.queue = append(s.queue, e)
	s.bytes += len(e.frame)
	s.awake()
}

func (s *Stream) end() {
	s.ending = true
	s.room.Broadcast()
	s.awake()
}

func (s *Stream) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// abort ends the stream without sending the queue and aborts a blocked
// write. The caller must hold mu.
func (s *Stream) abort() {
	s.broken = true
	s.drop()
	s.end()
	if !s.closed && s.conn != nil {
		_ = s.conn.SetWriteDeadline(time.Unix(1, 0)) // a closed connection ends the stream too
	}
}

// Break ends the stream at once, without sending the queue.
func (s *Stream) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.abort()
	}
}

// SupportsBodyWriteTo reports to the server that it can call WriteTo.
func (s *Stream) SupportsBodyWriteTo() bool { return true }

// WriteTo sends queued events until the stream ends. Each write has its own
// deadline; the first failure ends the stream with its error.
func (s *Stream) WriteTo(w io.Writer) (written int64, err error) {
	keepAlive := time.NewTimer(s.options.KeepAlive)
	defer keepAlive.Stop()
	stopped := s.stopped
	for {
		batch, ended, broken := s.next()
		for piece := range slices.Chunk(batch, streamWriteSize) {
			if err := s.extend(); err != nil {
				return written, err
			}
			n, err := w.Write(piece)
			written += int64(n)
			if err != nil {
				return written, err
			}
		}
		switch {
		case broken:
			return written, errStreamEnded
		case len(batch) > 0:
			keepAlive.Reset(s.options.KeepAlive)
			continue
		case ended:
			// The server writes the end of the body next.
			return written, s.complete()
		}
		select {
		case <-s.wake:
		case <-stopped:
			stopped = nil
			s.options.Stop()
			s.End()
		case <-keepAlive.C:
			s.Comment()
			keepAlive.Reset(s.options.KeepAlive)
		}
	}
}

// Read implements io.Reader, for servers that don't call WriteTo.
func (s *Stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		batch, ended, broken := s.next()
		switch {
		case broken:
			return 0, errStreamEnded
		case len(batch) > 0:
			s.rest = batch
			continue
		case ended:
			return 0, io.EOF
		}
		<-s.wake
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close is called when the last byte was sent or sending failed. It removes the
// write deadline of the stream, so that the connection can serve further
// requests.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.wrote()
	s.drop()
	s.end()
	if s.conn != nil && !s.broken {
		_ = s.conn.SetWriteDeadline(time.Time{}) // fails only on a closed connection
	}
	close(s.over)
	s.mu.Unlock()
	if s.options.Closed != nil {
		s.options.Closed()
	}
	return nil
}

// next is like take while Alive allows it. Otherwise it ends the stream and
// drops the queue.
func (s *Stream) next() (batch []byte, ended, broken bool) {
	batch, ended, broken = s.take()
	if len(batch) > 0 && s.options.Alive != nil && !s.options.Alive() {
		s.End()
		for len(batch) > 0 {
			batch, ended, broken = s.take()
		}
	}
	return batch, ended, broken
}

// take returns queued events for one write, at least one if there is any. ended
// reports that no more follow.
func (s *Stream) take() (batch []byte, ended, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote()
	n := 0
	for n < len(s.queue) && (n == 0 || len(batch)+len(s.queue[n].frame) <= streamWriteSize) {
		if n == 0 {
			batch = s.queue[0].frame
		} else {
			batch = append(batch, s.queue[n].frame...)
		}
		s.bytes -= len(s.queue[n].frame)
		if sent := s.queue[n].sent; sent != nil {
			s.writing = append(s.writing, sent)
		}
		n++
	}
	s.queue = slices.Delete(s.queue, 0, n)
	if n > 0 {
		s.room.Broadcast()
	}
	return batch, s.ending && len(s.queue) == 0, s.broken
}

// extend sets the deadline of the next write.
func (s *Stream) extend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return errStreamEnded
	}
	if s.conn == nil {
		return nil
	}
	return s.conn.SetWriteDeadline(time.Now().Add(streamWriteTime))
}
