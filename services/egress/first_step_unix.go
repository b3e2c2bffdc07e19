//go:build unix

package egress

import (
	"io"
	"net"
	"syscall"

	"mcpgateway/services/rawconn"
)

// firstStep writes a request to a connection and reads what comes first of the
// answer, as one operation of the connection. Reading and writing apart would
// ask the system once more for what cannot be there yet, and to look before
// whether the other end is still there would be another question.
type firstStep struct {
	conn *plainConn
	raw  syscall.RawConn
	run  func(fd uintptr) bool // advance

	message, p []byte
	began      bool
	wrote, n   int
	err        error
}

// newFirstStep returns nil for connections that are not of the system's network.
func newFirstStep(c *plainConn) *firstStep {
	raw := rawconn.Of(c.conn)
	if raw == nil {
		return nil
	}
	s := &firstStep{conn: c, raw: raw}
	s.run = s.advance
	return s
}

// take writes a message and reads into p. It returns errClosedBefore, with
// nothing written, when the connection was kept and ended or brought bytes that
// nobody asked for. When it returns neither bytes nor an error, the message
// was not written as a whole.
func (s *firstStep) take(message, p []byte) (int, error) {
	s.message, s.p, s.began, s.wrote, s.n, s.err = message, p, false, 0, 0, nil
	err := s.raw.Read(s.run)
	s.message, s.p = nil, nil
	if err != nil { // the deadline, or an interruption
		return 0, err
	}
	return s.n, s.err
}

// advance goes on as far as it can without waiting, and reports whether the
// step is over. Whatever arrives behind its first look makes it be called again.
func (s *firstStep) advance(fd uintptr) (over bool) {
	if !s.began {
		s.began = true
		if s.conn.kept {
			if _, quiet, _ := s.conn.transport.pace.Read(int(fd), s.p); !quiet {
				s.err = errClosedBefore
				return true
			}
		}
		s.wrote, _, _ = rawconn.Write(int(fd), s.message)
		return s.wrote < len(s.message)
	}
	n, wait, err := s.conn.transport.pace.Read(int(fd), s.p)
	switch {
	case wait:
		return false
	case err != nil:
		s.err = &net.OpError{Op: "read", Net: "tcp", Err: err}
	case n == 0:
		s.err = io.EOF
	default:
		s.n = n
	}
	return true
}
