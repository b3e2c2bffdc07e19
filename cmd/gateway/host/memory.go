// Package host fits a serving process to the limits of its machine.
package host

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent is the heap growth between collections of a serving process:
	// about 12 MiB are long-lived, and scanning them often costs more than the
	// memory is worth.
	gcPercent = 200
	// memoryInterval is the time between adjustments of the memory limit.
	memoryInterval = 10 * time.Second
	// memoryReserve is the memory for stacks, buffers and uncollected results,
	// in bytes.
	memoryReserve = 64 << 20
)

// TuneGC tunes the garbage collector until ctx ends, unless GOGC or GOMEMLIMIT
// is set. held returns the bytes of results in memory, at most resultMemory:
// they must not triple the heap.
func TuneGC(ctx context.Context, held func() int64, resultMemory int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		debug.SetMemoryLimit(memoryLimit(liveHeap()-held(), resultMemory))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// memoryLimit returns the soft memory limit for a heap with live bytes besides
// results.
func memoryLimit(live, resultMemory int64) int64 {
	live = max(live, 0)
	return max(3*live, 2*live+resultMemory) + memoryReserve
}

// liveHeap returns the live bytes after the last collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
