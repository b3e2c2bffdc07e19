package bed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// metricsAge is how old what /metrics answers may be, and a little more.
const metricsAge = 1100 * time.Millisecond

// Metrics returns every series of /metrics, by its name with its labels.
func (g *Gateway) Metrics(ctx context.Context) (map[string]float64, error) {
	raw, err := g.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return ParseMetrics(string(raw)), nil
}

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

// AwaitSyncs returns when n upstream servers have been read.
func (g *Gateway) AwaitSyncs(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	for {
		m, err := g.Metrics(ctx)
		switch {
		case err != nil:
			return err
		case m[`gateway_syncs_total{result="error"}`] > 0:
			return errors.New("an upstream server could not be read")
		case m[`gateway_syncs_total{result="ok"}`] >= float64(n):
			return nil
		}
		if err := Pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d upstream servers were not read within %v: %w", n, commandLimit, err)
		}
	}
}

// Allocations are what a process has allocated.
type Allocations struct{ Objects, Bytes float64 }

// Allocated returns what the gateway allocates during work, which is waited
// for at least as long as its metrics may be old.
func (g *Gateway) Allocated(ctx context.Context, work func() error) (Allocations, error) {
	if err := Pause(ctx, metricsAge); err != nil {
		return Allocations{}, err
	}
	before, err := g.allocations(ctx)
	if err != nil {
		return Allocations{}, err
	}
	if err := work(); err != nil {
		return Allocations{}, err
	}
	if err := Pause(ctx, metricsAge); err != nil {
		return Allocations{}, err
	}
	after, err := g.allocations(ctx)
	return Allocations{after.Objects - before.Objects, after.Bytes - before.Bytes}, err
}

func (g *Gateway) allocations(ctx context.Context) (Allocations, error) {
	m, err := g.Metrics(ctx)
	if err != nil {
		return Allocations{}, err
	}
	a := Allocations{m["go_memstats_mallocs_total"], m["go_memstats_alloc_bytes_total"]}
	if a.Objects == 0 || a.Bytes == 0 {
		return a, errors.New("/metrics tells no allocations")
	}
	return a, nil
}
