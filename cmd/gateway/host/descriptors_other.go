//go:build !unix

package host

// Descriptors returns 0: this system has no limit.
func Descriptors() int { return 0 }
