//go:build linux || darwin

package models

import "syscall"

// hasSpace reports whether the file system of a directory has free space.
func hasSpace(folder string) bool {
	var stat syscall.Statfs_t
	return syscall.Statfs(folder, &stat) != nil || stat.Bavail*uint64(stat.Bsize) >= minFree
}
