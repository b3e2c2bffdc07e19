// Package sse sends server-sent events: streams with a bounded queue, which any
// goroutine may write to, and the Accept header that asks for one.
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

// Bounds of one stream (contract, "Limits").
const (
	MaxStreamMessages = 256              // that wait for the client to read
	MaxStreamBytes    = 4 << 20          // of them together
	StreamKeepAlive   = 15 * time.Second // between comments on an idle stream
	streamWriteTime   = 10 * time.Second // for each write; below the time of a shutdown
	streamWriteSize   = 64 << 10         // bytes of one write
)

// MIMEEventStream is the media type of server-sent events (WHATWG HTML,
// "Server-sent events").
const MIMEEventStream = "text/event-stream"

// errStreamEnded makes the server close the connection of a stream that did
// not end as it should, so that its client can tell.
var errStreamEnded = errors.New("the stream ended early")

// Stream is one answer of server-sent events. Any goroutine may send; the
// messages wait in a bounded queue until the client reads them, and a client
// that does not read loses its stream. Sending to a stream that is over does
// nothing.
type Stream struct {
	options StreamOptions
	conn    net.Conn
	wake    chan struct{}   // holds a token when there is something to do
	stopped <-chan struct{} // closed when the server shuts down; nil when that is no matter
	over    chan struct{}   // closed when nothing can reach the client any more
	written chan struct{}   // of an answer ahead; closed when nothing more is written

	mu     sync.Mutex
	room   *sync.Cond // of mu; told when something was taken or the stream ends
	queue  []streamEvent
	bytes  int
	ending bool // nothing may follow what is queued
	broken bool // what is queued is not sent either
	closed bool
	rest   []byte // what Read did not hand out yet

	writing []func() // to call when what is being written was
}

type streamEvent struct {
	frame []byte
	key   string // of a message that a newer one may replace
	sent  func() // called when it was sent or dropped; may be nil
}

// StreamOptions say how a stream lives.
type StreamOptions struct {
	// KeepAlive is the time between comments on an idle stream; 0 is StreamKeepAlive.
	KeepAlive time.Duration
	// Alive is asked before anything is sent, these comments included, whether
	// the stream may go on; nil is always yes. When it may not, what waits is
	// dropped and the stream ends.
	Alive func() bool
	// Stop is called when the server shuts down and ends the stream, which
	// else could hold up the shutdown for ever. Streams that end with the call
	// they belong to leave it nil.
	Stop func()
	// Closed is called once when nothing can reach the client any more.
	Closed func()
}

// NewStream returns a stream for the request's client. It takes messages at
// once and sends them after Answer.
func NewStream(c *fiber.Ctx, options StreamOptions) *Stream {
	if options.KeepAlive == 0 {
		options.KeepAlive = StreamKeepAlive
	}
	s := &Stream{options: options, conn: c.Context().Conn(), wake: make(chan struct{}, 1), over: make(chan struct{})}
	s.room = sync.NewCond(&s.mu)
	if options.Stop != nil {
		s.stopped = c.Context().Done() // closed at shutdown, whatever the request does
	}
	return s
}

// Answer makes the stream the answer of the request. The headers are sent at
// once, the messages after the handler has returned. It always returns nil.
func (s *Stream) Answer(c *fiber.Ctx) error {
	s.announce(c)
	response := c.Response()
	response.ImmediateHeaderFlush = true
	response.SetBodyStream(s, -1)
	if err := s.extend(); err != nil {
		s.Break() // the connection is closed; writing to it tells the server
	}
	return nil
}

func (s *Stream) announce(c *fiber.Ctx) {
	c.Status(fiber.StatusOK)
	c.Set(fiber.HeaderContentType, MIMEEventStream)
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set("X-Accel-Buffering", "no") // a proxy that collects the answer would hold it back
}

// Discard ends a stream that never became an answer.
func (s *Stream) Discard() { _ = s.Close() }

// Over returns a channel that is closed when nothing can reach the client any
// more: it went away, or the stream ended.
func (s *Stream) Over() <-chan struct{} { return s.over }

// Send queues one message. event is its name, or empty. It returns false when
// the stream is over, or when too much waits for the client already: then the
// stream ends, because a message may not be lost unseen.
func (s *Stream) Send(event string, data []byte) bool {
	return s.send(appendEvent(nil, event, data))
}

// send queues a frame as Send does a message.
func (s *Stream) send(frame []byte) bool {
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

// SendWhenRoom queues one message and waits until too much no longer waits for
// the client. It returns false when the stream is over.
func (s *Stream) SendWhenRoom(event string, data []byte) bool {
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

// Offer queues a message that may be lost, such as progress. While the last
// queued message has the same key, which must not be empty, the new one takes
// its place; when too much waits for the client, the new one is dropped.
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

// End ends the stream after what is queued.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// EndWith queues the last messages, whatever their size and however many wait,
// and ends the stream behind them.
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

// full reports whether a message of so many bytes is too much. One message
// alone never is.
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

// breakOff ends the stream without what is queued, also when a write to the
// client is waiting. The caller holds the mutex.
func (s *Stream) breakOff() {
	s.broken = true
	s.drop()
	s.end()
	if !s.closed && s.conn != nil {
		_ = s.conn.SetWriteDeadline(time.Unix(1, 0)) // a closed connection ends the stream too
	}
}

// Break ends the stream at once, without what is queued.
func (s *Stream) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.breakOff()
	}
}

// SupportsBodyWriteTo lets the server call WriteTo.
func (s *Stream) SupportsBodyWriteTo() bool { return true }

// WriteTo sends what is queued until the stream ends. Each write has its own
// time; the first that fails ends the stream with its error.
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
			return written, s.extend()
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

// Read hands out the messages for a server that does not call WriteTo.
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

// Close is called when the last byte was sent or could not be. It leaves the
// connection without a deadline of this stream, so that it can serve on.
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
		_ = s.conn.SetWriteDeadline(time.Time{}) // fails on a closed connection only
	}
	close(s.over)
	s.mu.Unlock()
	if s.options.Closed != nil {
		s.options.Closed()
	}
	return nil
}

// next returns what take does while the stream may go on. When it may not, the
// stream ends and what was queued is dropped.
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

// take returns queued messages for one write, at least one if there is any,
// and whether any may follow.
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

// extend gives the next write its time.
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
