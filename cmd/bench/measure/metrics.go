package measure

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"mcpgateway/cmd/internal/stage"
)

// metricsAge is how old what /metrics answers may be, and a little more.
const metricsAge = 1100 * time.Millisecond

// ParseMetrics returns the series of a page in Prometheus's text format, by
// their names with labels as they are spelled there.
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

// Allocations are what a process has allocated.
type Allocations struct{ Objects, Bytes float64 }

// allocated returns what the gateway allocates during work, which is waited
// for at least as long as its metrics may be old.
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
		return a, errors.New("/metrics tells no allocations")
	}
	return a, nil
}
