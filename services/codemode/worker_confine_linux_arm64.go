package codemode

import "golang.org/x/sys/unix"

// seccompArch is how a filter knows the architecture of a system call.
const seccompArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are the calls that only this architecture has.
func deniedHere() []uintptr { return []uintptr{unix.SYS_RENAMEAT} }
