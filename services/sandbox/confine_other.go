//go:build !linux

package sandbox

import "time"

// confine does nothing on systems other than Linux: there the engine, which
// has no input or output of its own, and its limits are what holds the code.
func confine() (granted []string, err error) { return nil, nil }

// dropPrivileges does nothing on systems other than Linux.
func dropPrivileges() {}

// usedByProcess returns zero where the system is not asked.
func usedByProcess() time.Duration { return 0 }

// memoryMeter knows nothing where the system is not asked.
type memoryMeter struct{}

func newMemoryMeter() memoryMeter { return memoryMeter{} }

func (memoryMeter) peak() int64 { return 0 }
