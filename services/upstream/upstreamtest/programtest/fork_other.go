//go:build !unix

package programtest

import "syscall"

func attributes(string) *syscall.SysProcAttr { return nil }
