package sandbox

import "golang.org/x/sys/unix"

// seccompArch identifies the architecture of a system call in a filter.
const seccompArch = unix.AUDIT_ARCH_AARCH64
