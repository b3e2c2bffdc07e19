package activity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// maxSampled is the number of newest calls used for statistics.
const maxSampled = 50_000

// CallStats are the statistics of calls in a period.
type CallStats struct {
	Total   Latency
	Steps   []Latency // equal parts of the period, oldest first; Name is the start in RFC 3339
	Tools   []Latency // most called first
	Servers []Latency // by ServerOf, most called first
	// Sampled reports whether the period has more calls than were used.
	Sampled bool
}

// Latency contains the durations of calls and the number of failures. Durations
// are those of calls with a result.
type Latency struct {
	Name          string
	Calls, Failed int
	P50, P95, P99 time.Duration
}

// Stats returns the statistics of the matching calls, in equal steps from
// f.Since to f.Until, which must both be set. It returns the faults of List.
func (c *Calls) Stats(ctx context.Context, f CallFilter, steps int) (*CallStats, error) {
	query, err := c.matching(ctx, f)
	if err != nil {
		return nil, err
	}
	var calls []models.Call
	err = query.Select("at", "tool", "server", "duration_us", "outcome", "code").Order("id DESC").Limit(maxSampled + 1).Find(&calls).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	stats := &CallStats{Sampled: len(calls) > maxSampled}
	calls = calls[:min(len(calls), maxSampled)]
	var total sample
	byStep, byTool, byServer := make([]sample, steps), map[string]*sample{}, map[string]*sample{}
	step := f.Until.Sub(f.Since) / time.Duration(steps)
	for _, call := range calls {
		total.add(call)
		at(byTool, call.Tool).add(call)
		at(byServer, ServerOf(call)).add(call)
		if i := int(call.At.Sub(f.Since) / step); i >= 0 && i < steps {
			byStep[i].add(call)
		}
	}
	stats.Total = total.latency("")
	for i := range byStep {
		stats.Steps = append(stats.Steps, byStep[i].latency(f.Since.Add(time.Duration(i)*step).UTC().Format(time.RFC3339)))
	}
	stats.Tools, stats.Servers = ranked(byTool), ranked(byServer)
	return stats, nil
}

func at(samples map[string]*sample, name string) *sample {
	s := samples[name]
	if s == nil {
		s = &sample{}
		samples[name] = s
	}
	return s
}

func ranked(samples map[string]*sample) []Latency {
	var all []Latency
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		all = append(all, samples[name].latency(name))
	}
	slices.SortStableFunc(all, func(a, b Latency) int { return cmp.Compare(b.Calls, a.Calls) })
	return all
}

type sample struct {
	calls, failed int
	durations     []int64
}

func (s *sample) add(call models.Call) {
	s.calls++
	switch call.Outcome {
	case models.CallOK:
	case models.CallCancelled:
		return
	default:
		s.failed++
	}
	if call.Outcome != models.CallFailed {
		s.durations = append(s.durations, call.DurationUS)
	}
}

func (s *sample) latency(name string) Latency {
	slices.Sort(s.durations)
	part := func(percent int) time.Duration {
		if len(s.durations) == 0 {
			return 0
		}
		return time.Duration(s.durations[(len(s.durations)-1)*percent/100]) * time.Microsecond
	}
	return Latency{Name: name, Calls: s.calls, Failed: s.failed, P50: part(50), P95: part(95), P99: part(99)}
}
