//go:build unix

package rawconn

import (
	"errors"
	"syscall"
)

// Read reads from a file that does not block, once. It reports wait when there
// is nothing yet, and returns 0 at the end.
func (p *Pace) Read(fd int, b []byte) (n int, wait bool, err error) {
	if p.first() {
		return once(syscall.Read, fd, b)
	}
	return once(readRaw, fd, b)
}

// Write writes to a file that does not block what it takes of b now, which is
// less than b at times. It reports wait when it takes nothing yet.
func Write(fd int, b []byte) (n int, wait bool, err error) {
	return once(writeRaw, fd, b)
}

// once calls the system until no signal comes between.
func once(call func(int, []byte) (int, error), fd int, b []byte) (n int, wait bool, err error) {
	for {
		n, err := call(fd, b)
		switch {
		case err == nil:
			return n, false, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, true, nil
		default:
			return 0, false, err
		}
	}
}
