package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// ErrEventTooLarge is returned for an event beyond the reader's limit.
var ErrEventTooLarge = errors.New("an event of the stream is too large")

// Sizes of the read buffer; most lines are short.
const (
	lineBuffer     = 4 << 10
	longLineBuffer = 64 << 10
)

// Bounds of what a stream asks for.
const (
	MaxTokenBytes = 1 << 10                // of a session id and an event id
	minRetryTime  = 100 * time.Millisecond // whatever the upstream asks for
	maxRetryTime  = 30 * time.Second
)

// Event is one server-sent event.
type Event struct {
	Name string // "message" when the stream gives none
	Data []byte // owned by the receiver
}

// EventReader reads a stream of server-sent events (WHATWG HTML, section
// 9.2.6). An event that the stream's end cuts off is dropped, as the standard
// says.
type EventReader struct {
	src   io.Reader
	Limit int // bytes of the present event
	most  int // bytes of any event

	// Reserve, if set, is called once for an event of more than trusted bytes. It
	// returns how many it may have, or an error, which is kept in refused.
	Reserve  func() (int64, error)
	reserved bool // of the present event
	Refused  error

	buf        []byte
	start, end int
	line       []byte // the beginning of a line that does not fit into buf
	skipLF     bool   // the last line ended with CR, so a LF belongs to it
	begun      bool

	Count  int           // of the events returned
	LastID string        // of the last complete event with an id
	Retry  time.Duration // what the stream asked for, or 0
}

// NewEventReader returns a reader of src whose events have at most limit bytes.
func NewEventReader(src io.Reader, limit int) *EventReader {
	return &EventReader{src: src, Limit: limit, most: limit, buf: make([]byte, lineBuffer)}
}

// Next returns the next event that has data. The error is io.EOF at the end
// of the stream, errEventTooLarge, or what reading gave.
func (r *EventReader) Next() (Event, error) {
	e := Event{Name: "message"}
	var id []byte
	hasID, hasData, size := false, false, 0
	r.Limit, r.reserved = r.most, false
	for {
		line, err := r.readLine(size)
		if err != nil {
			return Event{}, err
		}
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(line) == 0 {
			if hasID {
				r.LastID = string(id)
			}
			if hasData {
				r.Count++
				return e, nil
			}
			e.Name, id, hasID, size = "message", nil, false, 0
			continue
		}
		if line[0] == ':' { // a comment, to keep the connection alive
			continue
		}
		size += len(line)
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			e.Data, hasData = r.appendData(e.Data, value, hasData), true
		case "event":
			e.Name = string(value)
			if e.Name == "" {
				e.Name = "message"
			}
		case "id":
			if IsToken(value) || len(value) == 0 {
				id, hasID = append(id[:0], value...), true
			}
		case "retry":
			r.setRetry(value)
		}
	}
}

// appendData returns the data of an event with another line of it.
func (r *EventReader) appendData(data, line []byte, hasData bool) []byte {
	switch {
	case hasData:
		return append(append(data, '\n'), line...)
	case len(r.line) > 0: // a long line has its own memory, which is handed over
		r.line = nil
		return line
	default:
		return append([]byte(nil), line...)
	}
}

// setRetry takes over a "retry" field, which must be digits only.
func (r *EventReader) setRetry(value []byte) {
	ms, err := strconv.ParseUint(string(value), 10, 31)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.Retry = maxRetryTime
	case err == nil:
		r.Retry = min(max(time.Duration(ms)*time.Millisecond, minRetryTime), maxRetryTime)
	}
}

// admit returns an error when an event may not have n bytes.
func (r *EventReader) admit(n int) error {
	if n > trusted && r.Reserve != nil && !r.reserved {
		limit, err := r.Reserve()
		if err != nil {
			r.Refused = err
			return err
		}
		r.Limit, r.reserved = int(limit), true
	}
	if n > r.Limit {
		return ErrEventTooLarge
	}
	return nil
}

// readLine returns the next line without its end, valid until the next call.
// The event has so many bytes before it. A line may end with CR, LF or both.
func (r *EventReader) readLine(before int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		chunk := r.buf[r.start:r.end]
		i := bytes.IndexByte(chunk, '\n')
		if j := bytes.IndexByte(chunk[:max(i, 0)], '\r'); i >= 0 && j >= 0 {
			i = j
		} else if i < 0 {
			i = bytes.IndexByte(chunk, '\r')
		}
		if i >= 0 {
			r.skipLF = chunk[i] == '\r'
			r.start += i + 1
			if err := r.admit(before + len(r.line) + i); err != nil {
				return nil, err
			}
			if len(r.line) == 0 {
				return chunk[:i], nil
			}
			r.line = append(r.line, chunk[:i]...)
			return r.line, nil
		}
		if err := r.admit(before + len(r.line) + len(chunk)); err != nil {
			return nil, err
		}
		r.line = append(r.line, chunk...)
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill replaces the buffer, all of which has been used, with what comes next.
func (r *EventReader) fill() error {
	r.start, r.end = 0, 0
	if len(r.line) >= len(r.buf) && len(r.buf) < longLineBuffer {
		r.buf = make([]byte, longLineBuffer)
	}
	for range 100 {
		n, err := r.src.Read(r.buf)
		r.end = n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// IsToken reports whether b can be sent in a header: visible ASCII, and not
// too long.
func IsToken(b []byte) bool {
	if len(b) == 0 || len(b) > MaxTokenBytes {
		return false
	}
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
