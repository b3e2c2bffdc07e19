package sandbox

import "golang.org/x/sys/unix"

// seccompArch is how a filter recognizes the architecture of a system call.
const seccompArch = unix.AUDIT_ARCH_AARCH64
