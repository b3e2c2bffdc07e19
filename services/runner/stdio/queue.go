package stdio

import (
	"errors"
	"io"
	"sync"

	"mcpgateway/services/background"
)

// Limits of the messages that wait for the program to read its input.
const (
	MaxQueued      = 64
	MaxQueuedBytes = 8 << 20
)

// ErrBusy is the error for messages beyond the limits of the queue.
var ErrBusy = errors.New("the program does not read its input")

// queue writes messages to the input of a program, one line each.
type queue struct {
	in   io.WriteCloser
	fail func(error)

	mu     sync.Mutex
	lines  [][]byte
	bytes  int
	closed bool
	more   chan struct{} // has an element while lines wait; closed by close
}

func newQueue(in io.WriteCloser, fail func(error), tasks *background.Tasks) *queue {
	q := &queue{in: in, fail: fail, more: make(chan struct{}, 1)}
	tasks.Go("program input", q.write)
	return q
}

// push adds a message, or returns ErrBusy or ErrEnded. A message larger than
// the whole queue is accepted by an empty one.
func (q *queue) push(message []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrEnded
	case len(q.lines) >= MaxQueued, len(q.lines) > 0 && q.bytes+len(message) > MaxQueuedBytes:
		return ErrBusy
	}
	q.lines = append(q.lines, line(message))
	q.bytes += len(message) + 1
	select {
	case q.more <- struct{}{}:
	default:
	}
	return nil
}

// line returns a message with the end of its line. JSON can contain the ends of
// lines only between its tokens.
func line(message []byte) []byte {
	for i, c := range message {
		if c == '\n' || c == '\r' {
			message[i] = ' '
		}
	}
	return append(message, '\n')
}

// close ends the writer. Messages that wait are dropped.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed, q.lines = true, nil
	close(q.more)
}

// next returns the next message, or nil when there is none.
func (q *queue) next() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.lines) == 0 {
		return nil
	}
	first := q.lines[0]
	q.lines[0] = nil
	q.lines = q.lines[1:]
	return first
}

// written frees the room of a message.
func (q *queue) written(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= n
}

func (q *queue) write() {
	defer q.in.Close()
	for range q.more {
		for next := q.next(); next != nil; next = q.next() {
			if _, err := q.in.Write(next); err != nil {
				q.fail(ErrEnded)
				return
			}
			q.written(len(next))
		}
	}
}
