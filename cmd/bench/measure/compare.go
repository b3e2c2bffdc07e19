package measure

import (
	"context"
	"fmt"
	"time"

	"mcpgateway/cmd/bench/load"
)

// CallPlan configures RunCalls.
type CallPlan struct {
	Connections []int         `json:"connections"` // of the closed loops
	Rounds      int           `json:"rounds"`
	Duration    time.Duration `json:"duration"` // of one run
	Warmup      time.Duration `json:"warmup"`   // before the first round, of each target
	Rate        float64       `json:"rate"`     // calls per second of the open loop; 0 skips it
	// RateConnections is the number of connections of the open loop.
	RateConnections int    `json:"rateConnections"`
	Revision        string `json:"revision"` // protocol revision of the clients
	Ways            bool   `json:"ways"`     // also measure other kinds of upstream servers
	// Upstream is the HOST:PORT of the upstream server, or empty for a free port.
	// Other is another gateway in front of that server. It may be nil.
	Upstream string  `json:"upstream,omitempty"`
	Other    *Target `json:"-"`
}

// Target is a measured endpoint and its process.
type Target struct {
	Name     string
	Endpoint load.Endpoint
	PID      int
}

// Sample is the result of one run, or the medians of several runs.
type Sample struct {
	PerSecond float64 `json:"callsPerSecond"`
	P50       float64 `json:"p50us"`
	P99       float64 `json:"p99us"`
	CPU       float64 `json:"cpuUsPerCall"` // of the target's process
	PeakMiB   float64 `json:"peakMiB"`      // of the target's process since the warmup
}

// Measured is the result of one target under one load.
type Measured struct {
	Target  string   `json:"target"`
	Rounds  []Sample `json:"rounds"`
	Medians Sample   `json:"medians"`
}

// Comparison is the result of all targets under one load: a closed loop, or an
// open loop if Rate is not 0.
type Comparison struct {
	Way         string     `json:"way,omitempty"` // empty for http with short JSON results
	Connections int        `json:"connections"`
	Rate        float64    `json:"rate,omitempty"`
	Targets     []Measured `json:"targets"`
	// Throughput and CPU are the ratios of gateway to floor in each round. AddedP50
	// is the difference between gateway and direct call, in microseconds.
	Throughput Range `json:"throughputOfFloor"`
	CPU        Range `json:"cpuOfFloor"`
	AddedP50   Range `json:"addedP50us"`
}

// Names of targets.
const (
	Direct  = "direct"
	Floor   = "floor"
	Gateway = "gateway"
	Other   = "other"
)

// Compare measures every target under every load of the plan. The first failed
// call ends it with an error.
func Compare(ctx context.Context, targets []Target, p CallPlan, progress func(string)) ([]Comparison, error) {
	type loop struct {
		connections int
		rate        float64
	}
	var loops []loop
	for _, n := range p.Connections {
		loops = append(loops, loop{connections: n})
	}
	if p.Rate > 0 {
		loops = append(loops, loop{connections: p.RateConnections, rate: p.Rate})
	}
	var all []Comparison
	for _, l := range loops {
		c := Comparison{Connections: l.connections, Rate: l.rate}
		progress(c.Load())
		if err := c.measure(ctx, targets, p); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Load(), err)
		}
		all = append(all, c)
	}
	return all, nil
}

// Load returns a description of the load.
func (c *Comparison) Load() string {
	if c.Way != "" {
		plain := *c
		plain.Way = ""
		return c.Way + ", " + plain.Load()
	}
	switch {
	case c.Rate > 0:
		return FormatNumber(c.Rate) + " calls/s, open loop"
	case c.Connections == 1:
		return "1 connection"
	default:
		return fmt.Sprintf("%d connections", c.Connections)
	}
}

func (c *Comparison) measure(ctx context.Context, targets []Target, p CallPlan) error {
	clients := make([][]*load.Client, len(targets))
	c.Targets = make([]Measured, len(targets))
	for i, t := range targets {
		c.Targets[i].Target = t.Name
		opened, err := load.OpenAll(ctx, t.Endpoint, c.Connections)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		defer load.CloseAll(opened)
		clients[i] = opened
		if err := ResetPeak(t.PID); err != nil {
			return err
		}
		if _, err := c.once(ctx, opened, p.Warmup); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	for range p.Rounds {
		for i, t := range targets {
			s, err := c.sample(ctx, t, clients[i], p.Duration)
			if err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			c.Targets[i].Rounds = append(c.Targets[i].Rounds, s)
		}
	}
	c.Relate()
	return nil
}

// once runs the load once.
func (c *Comparison) once(ctx context.Context, clients []*load.Client, d time.Duration) (*load.Result, error) {
	if c.Rate > 0 {
		return load.OpenLoop(ctx, clients, c.Rate, d)
	}
	return load.ClosedLoop(ctx, clients, d)
}

func (c *Comparison) sample(ctx context.Context, t Target, clients []*load.Client, d time.Duration) (Sample, error) {
	before, err := CPU(t.PID)
	if err != nil {
		return Sample{}, err
	}
	r, err := c.once(ctx, clients, d)
	if err != nil {
		return Sample{}, err
	}
	after, err := CPU(t.PID)
	if err != nil {
		return Sample{}, err
	}
	memory, err := MemoryOf(t.PID)
	if err != nil {
		return Sample{}, err
	}
	return Sample{
		PerSecond: r.PerSecond(), P50: micros(r.Quantile(0.5)), P99: micros(r.Quantile(0.99)),
		CPU: micros(after-before) / float64(r.Count()), PeakMiB: float64(memory.Peak) / (1 << 20),
	}, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Relate computes the medians of every target and the figures that compare the
// targets from their rounds.
func (c *Comparison) Relate() {
	rounds := map[string][]Sample{}
	for i := range c.Targets {
		t := &c.Targets[i]
		rounds[t.Target] = t.Rounds
		over := func(figure func(Sample) float64) float64 {
			var values []float64
			for _, s := range t.Rounds {
				values = append(values, figure(s))
			}
			return Median(values...)
		}
		t.Medians = Sample{
			PerSecond: over(func(s Sample) float64 { return s.PerSecond }), P50: over(func(s Sample) float64 { return s.P50 }),
			P99: over(func(s Sample) float64 { return s.P99 }), CPU: over(func(s Sample) float64 { return s.CPU }),
		}
		for _, s := range t.Rounds {
			t.Medians.PeakMiB = max(t.Medians.PeakMiB, s.PeakMiB)
		}
	}
	var throughput, cpu, added []float64
	for i, s := range rounds[Gateway] {
		if i < len(rounds[Floor]) {
			floor := rounds[Floor][i]
			if floor.PerSecond > 0 {
				throughput = append(throughput, s.PerSecond/floor.PerSecond)
			}
			if floor.CPU > 0 {
				cpu = append(cpu, s.CPU/floor.CPU)
			}
		}
		if i < len(rounds[Direct]) {
			added = append(added, s.P50-rounds[Direct][i].P50)
		}
	}
	c.Throughput, c.CPU, c.AddedP50 = RangeOf(throughput...), RangeOf(cpu...), RangeOf(added...)
}
