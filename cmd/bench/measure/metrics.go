package measure

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// metricsAge is slightly longer than the 1 s for which /metrics caches a page.
const metricsAge = 1100 * time.Millisecond

// ParseMetrics parses Prometheus's text format. It returns the values by series:
// the name with its labels, as written.
func ParseMetrics(text string) map[string]float64 {
	series := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			series[line[:at]] = value
		}
	}
	return series
}

// Allocations are the heap allocations of a process.
type Allocations struct{ Objects, Bytes float64 }

// allocated returns the gateway's allocations during work. It waits before each
// reading until the cached metrics have expired.
func allocated(ctx context.Context, g *stage.Gateway, work func() error) (Allocations, error) {
	if err := stage.Pause(ctx, metricsAge); err != nil {
		return Allocations{}, err
	}
	before, err := allocationsOf(ctx, g)
	if err != nil {
		return Allocations{}, err
	}
	if err := work(); err != nil {
		return Allocations{}, err
	}
	if err := stage.Pause(ctx, metricsAge); err != nil {
		return Allocations{}, err
	}
	after, err := allocationsOf(ctx, g)
	return Allocations{after.Objects - before.Objects, after.Bytes - before.Bytes}, err
}

func allocationsOf(ctx context.Context, g *stage.Gateway) (Allocations, error) {
	raw, err := g.Get(ctx, "/metrics")
	if err != nil {
		return Allocations{}, err
	}
	m := ParseMetrics(string(raw))
	a := Allocations{m["go_memstats_mallocs_total"], m["go_memstats_alloc_bytes_total"]}
	if a.Objects == 0 || a.Bytes == 0 {
		return a, errors.New("/metrics has no allocation counters")
	}
	return a, nil
}
