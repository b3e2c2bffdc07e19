//go:build unix

package main

import (
	"math"
	"syscall"
)

// maxDescriptors returns the number of descriptors that the process may open,
// or 0 when it is unlimited or unknown.
func maxDescriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 { //nolint:unconvert // an int64 on FreeBSD
		return 0
	}
	return int(limit.Cur)
}
