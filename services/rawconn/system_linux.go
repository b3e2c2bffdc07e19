//go:build linux && !race

package rawconn

import (
	"syscall"
	"unsafe"
)

// short is how many bytes are moved at most while the scheduler does not know
// of it: what takes microseconds.
const short = 16 << 10

func readRaw(fd int, b []byte) (int, error) {
	if len(b) == 0 || len(b) > short {
		return syscall.Read(fd, b)
	}
	return raw(syscall.SYS_READ, fd, b)
}

func writeRaw(fd int, b []byte) (int, error) {
	if len(b) == 0 || len(b) > short {
		return syscall.Write(fd, b)
	}
	return raw(syscall.SYS_WRITE, fd, b)
}

func raw(number uintptr, fd int, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
