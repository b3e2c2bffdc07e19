//go:build unix

package host

import (
	"math"
	"syscall"
)

// Descriptors returns the process's descriptor limit, or 0 if it is
// unlimited or unknown.
func Descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 { //nolint:unconvert // an int64 on FreeBSD
		return 0
	}
	return int(limit.Cur)
}
