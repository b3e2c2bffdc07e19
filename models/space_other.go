//go:build !linux && !darwin

package models

// hasSpace always returns true: free space is unknown on this platform.
func hasSpace(string) bool { return true }

// freeSpace returns false: free space is unknown on this platform.
func freeSpace(string) (uint64, bool) { return 0, false }
