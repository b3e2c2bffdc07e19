//go:build linux || darwin

package locks

import (
	"errors"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// lockByte reports whether it acquired the lock on the byte of a key. The lock
// belongs to the open file and is released when the file is closed or the
// process ends.
func lockByte(file *os.File, key int64) (got bool, err error) {
	err = setLock(file, key, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

func unlockByte(file *os.File, key int64) error { return setLock(file, key, unix.F_UNLCK) }

func setLock(file *os.File, key int64, kind int16) error {
	// F_OFD_SETLK of Linux and, as in the database driver, of macOS.
	command := 37
	if runtime.GOOS == "darwin" {
		command = 90
	}
	const positive = 1<<62 - 1
	for {
		err := unix.FcntlFlock(file.Fd(), command, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: key & positive, Len: 1})
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
