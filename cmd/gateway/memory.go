package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcPercent is the growth of the heap between collections while the process
	// serves: a dozen MiB live long, and scanning them often costs more than the
	// memory is worth.
	gcPercent = 200
	// memoryInterval is the time between two adjustments of the memory limit.
	memoryInterval = 10 * time.Second
	// memoryReserve is the memory for stacks, buffers and results before they are
	// collected, in bytes.
	memoryReserve = 64 << 20
)

// tuneGC sets how often memory is collected until ctx ends, unless GOGC or
// GOMEMLIMIT do. held returns the bytes of the results in memory, which have at
// most resultMemory: they must not make the heap grow threefold.
func tuneGC(ctx context.Context, held func() int64, resultMemory int64) {
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

// memoryLimit returns the soft memory limit for a heap in which so many bytes
// live besides results.
func memoryLimit(live, resultMemory int64) int64 {
	live = max(live, 0)
	return max(3*live, 2*live+resultMemory) + memoryReserve
}

// liveHeap returns the bytes that the latest collection left.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
