package traffic

import (
	"fmt"
	"math"
	"time"
)

// Latency classes are logarithmic: the limits of a class have the ratio
// classRatio, so that its middle differs from each of its calls by less than
// 5 %.
const (
	classRatio = 1.1
	// heatFactor separates the class of the distribution from the latency class
	// in classColumn.
	heatFactor = 1_000
)

// HeatClasses is the number of latency classes of a distribution.
const HeatClasses = 7

// HeatLimits returns the limits between the latency classes of a distribution.
func HeatLimits() [HeatClasses - 1]time.Duration {
	const ms = time.Millisecond
	return [...]time.Duration{10 * ms, 30 * ms, 100 * ms, 300 * ms, time.Second, 3 * time.Second}
}

// classColumn returns the SQL of a call's latency class, plus heatFactor times
// its class of the distribution.
func classColumn() string {
	heat := "CASE"
	for i, limit := range HeatLimits() {
		heat += fmt.Sprintf(" WHEN duration_us < %d THEN %d", limit.Microseconds(), i*heatFactor)
	}
	heat += fmt.Sprintf(" ELSE %d END", (HeatClasses-1)*heatFactor)
	return heat + fmt.Sprintf(" + CASE WHEN duration_us > 1 THEN CAST(floor(ln(CAST(duration_us AS double precision)) * %.12f) AS bigint) ELSE 0 END", 1/math.Log(classRatio))
}

// histogram counts calls by latency class.
type histogram struct {
	classes       map[int]int
	heat          [HeatClasses]int
	calls, failed int
	timed         int
}

// add counts calls of a class as returned by classColumn.
func (h *histogram) add(class, calls, failed, timed int) {
	h.calls += calls
	h.failed += failed
	if timed == 0 {
		return
	}
	if h.classes == nil {
		h.classes = map[int]int{}
	}
	h.timed += timed
	h.classes[class%heatFactor] += timed
	h.heat[min(max(0, class/heatFactor), HeatClasses-1)] += timed
}

// percentile returns the duration that percent of the calls with a result don't
// exceed, or 0 without such calls.
func (h *histogram) percentile(percent int) time.Duration {
	if h.timed == 0 {
		return 0
	}
	left := (h.timed-1)*percent/100 + 1
	for class := range heatFactor {
		if left -= h.classes[class]; left <= 0 {
			return time.Duration(math.Pow(classRatio, float64(class)+0.5) * float64(time.Microsecond))
		}
	}
	return 0 // unreachable: the classes contain all timed calls
}

func (h *histogram) totals(callers int) Totals {
	return Totals{Calls: h.calls, Failed: h.failed, Callers: callers, P50: h.percentile(50), P95: h.percentile(95), P99: h.percentile(99)}
}

func (h *histogram) bucket(start time.Time) Bucket {
	return Bucket{Start: start, Calls: h.calls, Failed: h.failed, P50: h.percentile(50), P95: h.percentile(95), P99: h.percentile(99)}
}
