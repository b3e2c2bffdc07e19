//go:build !unix

package conn

// isClosedByPeer always returns false: these systems can't check without
// consuming data. A disconnect shows when a write fails.
func isClosedByPeer(uintptr) bool { return false }
