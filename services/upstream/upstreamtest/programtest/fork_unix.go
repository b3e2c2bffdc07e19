//go:build unix

package programtest

import "syscall"

func attributes(mode string) *syscall.SysProcAttr {
	switch mode {
	case forkPlain:
		return nil
	case forkGroup:
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setsid: true}
}
