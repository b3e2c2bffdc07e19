//go:build !unix

package main

// maxDescriptors returns 0: this system has no limit.
func maxDescriptors() int { return 0 }
