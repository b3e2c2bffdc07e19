package codemode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpgateway/services/codemode"
)

// BenchmarkRun measures whole runs: cold with a new pool each time, and warm
// with a waiting child. For warm runs it also reports the median.
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
			if out := run(b, r, q, newTools()); !out.OK {
				b.Fatal(out.Error)
			}
			times = append(times, time.Since(begin))
		}
		reportMedian(b, times)
	})
	b.Run("1,000 tools", func(b *testing.B) {
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

// BenchmarkParallelCalls measures a run with 50 parallel calls of 20 ms in a
// warm child, and reports the median.
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
	var times []time.Duration
	for b.Loop() {
		b.StopTimer()
		codemode.AwaitWarm(r)
		b.StartTimer()
		begin := time.Now()
		if out := run(b, r, q, d); !out.OK || len(out.Calls) != calls {
			b.Fatalf("%d calls, %+v", len(out.Calls), out.Error)
		}
		times = append(times, time.Since(begin))
	}
	reportMedian(b, times)
}

// reportMedian reports the median of times in milliseconds.
func reportMedian(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}
