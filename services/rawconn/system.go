//go:build unix

package rawconn

import "syscall"

// Read reads from a file that does not block, once. It returns EAGAIN when there
// is nothing yet, and 0 at the end.
func (p *Pace) Read(fd int, b []byte) (int, error) {
	call := readRaw
	if p.first() {
		call = syscall.Read
	}
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// Write writes to a file that does not block what it takes of b now, which is
// less than b at times. It returns EAGAIN when it takes nothing yet.
func Write(fd int, b []byte) (int, error) {
	for {
		n, err := writeRaw(fd, b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
