package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Axis is the time axis of a chart: equal steps, oldest first.
type Axis struct {
	From  time.Time
	Step  time.Duration
	Count int
}

// start returns the start of a step.
func (a Axis) start(i int) time.Time { return a.From.Add(time.Duration(i) * a.Step) }

func (a Axis) length() time.Duration { return time.Duration(a.Count) * a.Step }

// position returns the position of a time in percent of the axis.
func (a Axis) position(at time.Time) float64 {
	if a.Count == 0 {
		return 0
	}
	return min(max(0, 100*float64(at.Sub(a.From))/float64(a.length())), 100)
}

// StepWords returns the length of a step, such as "30 min".
func (a Axis) StepWords() string {
	switch {
	case a.Step < time.Minute:
		return strconv.Itoa(int(a.Step/time.Second)) + " s"
	case a.Step < time.Hour:
		return strconv.Itoa(int(a.Step/time.Minute)) + " min"
	case a.Step < 48*time.Hour:
		return strconv.Itoa(int(a.Step/time.Hour)) + " h"
	}
	return strconv.Itoa(int(a.Step/day)) + " days"
}

// timeTick is a label of a time axis.
type timeTick struct {
	at   time.Time
	text string // in UTC
	as   string // how the script writes it
	x    float64
}

// mostTicks is the maximum number of labels of a time axis.
const mostTicks = 8

// ticks returns labels at round times.
func (a Axis) ticks() []timeTick {
	const minute = time.Minute
	var ticks []timeTick
	for _, every := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 5 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day,
	} {
		if a.Count == 0 || a.length() > mostTicks*every {
			continue
		}
		first := a.From.Truncate(every)
		if first.Before(a.From) {
			first = first.Add(every)
		}
		for at := first; at.Before(a.From.Add(a.length())); at = at.Add(every) {
			if a.position(at) > 97 {
				break // its words would not fit
			}
			tick := timeTick{at: at, text: at.UTC().Format("15:04"), as: "minute", x: a.position(at)}
			switch {
			case every >= day:
				tick.text, tick.as = at.UTC().Format("2 Jan"), "day"
			case every < minute:
				tick.text, tick.as = at.UTC().Format("15:04:05"), "clock"
			}
			ticks = append(ticks, tick)
		}
		break
	}
	return ticks
}

// scale is the vertical axis of a chart: from zero in equal steps.
type scale struct {
	step  float64
	parts int
}

// scaleOf returns the smallest scale of 3 or 4 steps that holds the value, with
// steps of 1, 2 or 5 times a power of ten.
func scaleOf(largest float64) scale {
	if largest <= 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		return scale{1, 4}
	}
	for power := math.Pow(10, math.Floor(math.Log10(largest))-1); ; power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if parts := math.Ceil(largest/(step*power) - 1e-9); parts <= 4 {
				return scale{step * power, max(3, int(parts))}
			}
		}
	}
}

// countScale is scaleOf for whole numbers.
func countScale(largest int) scale { return scaleOf(float64(max(3, largest))) }

func (s scale) top() float64 { return s.step * float64(s.parts) }

// at returns the value of a label; 0 is the topmost.
func (s scale) at(i int) float64 { return s.step * float64(s.parts-i) }

// y returns the position of a value in percent from the top.
func (s scale) y(value float64) float64 { return 100 - 100*min(max(0, value), s.top())/s.top() }

// percent returns an SVG length in percent.
func percent(v float64) string { return coordinate(v) + "%" }

// coordinate returns a number of a path, with one decimal.
func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// isGap reports whether a value of a line is missing.
func isGap(v float64) bool { return math.IsNaN(v) }

// Gap is the value of a line where there is no data.
func Gap() float64 { return math.NaN() }

// linePath returns a line through values at the middle of steps of width 1, with
// breaks at gaps. y returns the vertical position of a value.
func linePath(values []float64, y func(float64) float64) string {
	var b strings.Builder
	for i, v := range values {
		if isGap(v) {
			continue
		}
		before, after := i > 0 && !isGap(values[i-1]), i+1 < len(values) && !isGap(values[i+1])
		switch {
		case before:
			fmt.Fprintf(&b, "L%s %s", coordinate(float64(i)+.5), coordinate(y(v)))
		case after:
			fmt.Fprintf(&b, "M%s %s", coordinate(float64(i)+.5), coordinate(y(v)))
		default: // alone
			fmt.Fprintf(&b, "M%s %sh.6", coordinate(float64(i)+.2), coordinate(y(v)))
		}
	}
	return b.String()
}

// areaPath returns the area between linePath and the bottom.
func areaPath(values []float64, y func(float64) float64, bottom float64) string {
	var b strings.Builder
	for i := 0; i < len(values); i++ {
		if isGap(values[i]) {
			continue
		}
		begin := i
		fmt.Fprintf(&b, "M%s %s", coordinate(float64(i)+.5), coordinate(bottom))
		for ; i < len(values) && !isGap(values[i]); i++ {
			fmt.Fprintf(&b, "L%s %s", coordinate(float64(i)+.5), coordinate(y(values[i])))
		}
		if i-begin > 0 {
			fmt.Fprintf(&b, "V%sZ", coordinate(bottom))
		}
	}
	return b.String()
}

// largest returns the largest value that is not a gap, at least 0.
func largest(lists ...[]float64) float64 {
	most := 0.0
	for _, list := range lists {
		for _, v := range list {
			if !isGap(v) {
				most = max(most, v)
			}
		}
	}
	return most
}
