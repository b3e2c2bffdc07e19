package codemode

import "golang.org/x/sys/unix"

// seccompArch is how a filter knows the architecture of a system call.
const seccompArch = unix.AUDIT_ARCH_X86_64

// deniedHere are the older calls that only this architecture has.
func deniedHere() []uintptr {
	return []uintptr{
		unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RMDIR, unix.SYS_MKDIR,
		unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_MKNOD, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_READLINK, unix.SYS_ACCESS,
	}
}
