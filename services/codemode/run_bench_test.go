package codemode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpgateway/services/codemode"
)

// BenchmarkRun measures whole runs: cold with a new pool each, warm with a
// child that waits. Of the warm ones it reports the median, too.
func BenchmarkRun(b *testing.B) {
	q := request("const r = await math.add({a: 1, b: 2}); return r.sum")
	b.Run("cold", func(b *testing.B) {
		var memory int64
		for b.Loop() {
			r := newRunner(codemode.Options{})
			out := run(b, r, q, newTools())
			memory = out.Usage.MemoryBytes
			b.StopTimer()
			r.Close()
			b.StartTimer()
		}
		b.ReportMetric(float64(memory)/(1<<20), "MiB/child")
	})
	b.Run("warm", func(b *testing.B) {
		r := runner(b, codemode.Options{})
		run(b, r, q, newTools())
		var times []time.Duration
		for b.Loop() {
			b.StopTimer()
			codemode.AwaitWarm(r)
			b.StartTimer()
			begin := time.Now()
			run(b, r, q, newTools())
			times = append(times, time.Since(begin))
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	})
	b.Run("thousand tools", func(b *testing.B) {
		r := runner(b, codemode.Options{})
		q := q
		for i := range 1000 {
			q.Tools = append(q.Tools, tool("math", fmt.Sprintf("t%d", i), codemode.EffectRead))
		}
		run(b, r, q, newTools())
		for b.Loop() {
			b.StopTimer()
			codemode.AwaitWarm(r)
			b.StartTimer()
			run(b, r, q, newTools())
		}
	})
}

// BenchmarkParallelCalls measures calls of 20 ms that run ten at once: the
// metric is the time of all over the shortest time possible.
func BenchmarkParallelCalls(b *testing.B) {
	const calls, each = 50, 20 * time.Millisecond
	d := dispatch(func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		timer := time.NewTimer(each)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return []byte(`{"content":[]}`), nil
	})
	r := runner(b, codemode.Options{})
	q := request(fmt.Sprintf("await Promise.all(Array.from({length: %d}, (_, i) => text.plain({i})))", calls))
	run(b, r, q, d)
	var total time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		codemode.AwaitWarm(r)
		b.StartTimer()
		begin := time.Now()
		run(b, r, q, d)
		total += time.Since(begin)
		n++
	}
	best := each * calls / codemode.MaxParallelCalls
	b.ReportMetric(float64(total)/float64(n)/float64(best), "x-best")
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "ms/run")
}
