package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

const dataLimit = unix.RLIMIT_DATA

// maxDescriptors is the largest number of inherited descriptors.
const maxDescriptors = 1024

// attributes give a program its own session and process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// prepare lowers the priority of this process.
func (l launch) prepare() error {
	for fd := 3; fd < maxDescriptors; fd++ { // inherited from the runner's parent
		unix.CloseOnExec(fd)
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	if l.Confined {
		return errors.New("sandbox is available only on Linux")
	}
	return nil
}
