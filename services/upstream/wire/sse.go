package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// ErrEventTooLarge is returned for an event over the limit.
var ErrEventTooLarge = errors.New("event is too large")

// Sizes of the read buffer in bytes. Most lines are short.
const (
	lineBuffer     = 4 << 10
	longLineBuffer = 64 << 10
)

// Limits on values that a stream sets.
const (
	MaxTokenBytes = 1 << 10 // of a session ID and an event ID
	minRetryTime  = 100 * time.Millisecond
	maxRetryTime  = 30 * time.Second
)

// Event is one server-sent event.
type Event struct {
	Name string // "message" if the stream sets none
	Data []byte // owned by the receiver
}

// EventReader parses a stream of server-sent events (WHATWG HTML, section
// 9.2.6). As the standard requires, it drops an incomplete event at the end of
// the stream.
type EventReader struct {
	src   io.Reader
	Limit int // maximum bytes of the current event
	most  int // maximum bytes of any event

	// Reserve, if set, is called once for an event larger than trusted bytes.
	// It returns the maximum size or an error, which is stored in Refused.
	Reserve  func() (int64, error)
	reserved bool // Reserve was called for the current event
	Refused  error

	buf        []byte
	start, end int
	line       []byte // start of a line that does not fit into buf
	skipLF     bool   // the last line ended with CR, so a following LF belongs to it
	begun      bool

	Count  int           // number of returned events
	LastID string        // ID of the last complete event with one
	Retry  time.Duration // delay requested by the stream, or 0
}

// NewEventReader returns a reader of src with a limit of bytes per event.
func NewEventReader(src io.Reader, limit int) *EventReader {
	return &EventReader{src: src, Limit: limit, most: limit, buf: make([]byte, lineBuffer)}
}

// Next returns the next event with data. The error is io.EOF at the end of the
// stream, ErrEventTooLarge, or that of Reserve or src.
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
		if line[0] == ':' { // a comment, used as keep-alive
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

// appendData appends a line to the data of an event.
func (r *EventReader) appendData(data, line []byte, hasData bool) []byte {
	switch {
	case hasData:
		return append(append(data, '\n'), line...)
	case len(r.line) > 0: // a long line has its own memory, so no copy is necessary
		r.line = nil
		return line
	default:
		return append([]byte(nil), line...)
	}
}

// setRetry applies a "retry" field, which must consist of digits.
func (r *EventReader) setRetry(value []byte) {
	ms, err := strconv.ParseUint(string(value), 10, 31)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.Retry = maxRetryTime
	case err == nil:
		r.Retry = min(max(time.Duration(ms)*time.Millisecond, minRetryTime), maxRetryTime)
	}
}

// admit returns an error if an event of n bytes exceeds the limit.
func (r *EventReader) admit(n int) error {
	if n > maxPrealloc && r.Reserve != nil && !r.reserved {
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

// readLine returns the next line without its terminator. It is valid until the
// next call. before is the number of bytes of the event before this line. A
// line ends with CR, LF or both.
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

// fill refills the buffer, whose content must have been consumed.
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

// IsToken reports whether b can be sent in a header: visible ASCII of at most
// MaxTokenBytes.
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
