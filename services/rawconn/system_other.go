//go:build unix && (!linux || race)

package rawconn

import "syscall"

// The race detector takes the order of what is read behind what was written
// from package syscall; other systems than Linux allow no raw calls.

func readRaw(fd int, b []byte) (int, error)  { return syscall.Read(fd, b) }
func writeRaw(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }
