//go:build !linux

package sandbox

import "time"

// confine does nothing on systems other than Linux. There only the engine,
// which has no input or output, and its limits confine the code.
func confine() (granted []string, err error) { return nil, nil }

// dropPrivileges does nothing on systems other than Linux.
func dropPrivileges() {}

// usedByProcess returns zero: it is not implemented for this system.
func usedByProcess() time.Duration { return 0 }

// memoryMeter measures nothing: it is not implemented for this system.
type memoryMeter struct{}

func newMemoryMeter() memoryMeter { return memoryMeter{} }

func (memoryMeter) peak() int64 { return 0 }
