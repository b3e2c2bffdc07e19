//go:build linux || darwin

package models

import "syscall"

// freeSpace returns the free bytes of the file system of a directory.
func freeSpace(folder string) (free uint64, ok bool) {
	var stat syscall.Statfs_t
	if syscall.Statfs(folder, &stat) != nil {
		return 0, false
	}
	return stat.Bavail * uint64(stat.Bsize), true
}

// hasSpace reports whether the file system of a directory has free space.
func hasSpace(folder string) bool {
	free, ok := freeSpace(folder)
	return !ok || free >= minFree
}
