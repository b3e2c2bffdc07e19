package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Took returns a duration with at most three digits, such as "1.2 s", or "–" for
// none.
func Took(d time.Duration) string {
	value, unit := TookParts(d)
	return strings.TrimSpace(value + " " + unit)
}

// TookParts returns the number and the unit of Took.
func TookParts(d time.Duration) (value, unit string) {
	ms := float64(d.Microseconds()) / 1000
	switch {
	case d <= 0:
		return "–", ""
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64), "ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64), "ms"
	case ms < 100_000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64), "s"
	}
	return strconv.FormatFloat(ms/1000, 'f', 0, 64), "s"
}

// Percent returns a part of all with its sign, such as "1.9%".
func Percent(part, all int) string {
	if all == 0 || part == 0 {
		return "0%"
	}
	percent := 100 * float64(part) / float64(all)
	switch {
	case percent < 0.1:
		return "<0.1%"
	case percent < 9.95:
		return strconv.FormatFloat(percent, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(math.Floor(percent), 'f', 0, 64) + "%"
}

// Short returns a value with at most three digits, such as "1.2k".
func Short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size*0.9995 {
			return digits(v/unit.size) + unit.name
		}
	}
	return digits(v)
}

// digits returns a value below 1000 without trailing zeros.
func digits(v float64) string {
	decimals := 3
	switch {
	case v >= 99.95:
		decimals = 0
	case v >= 9.995:
		decimals = 1
	case v >= 0.9995:
		decimals = 2
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Millis returns a number of milliseconds as a label of an axis, such as
// "500 ms" or "1.5 s".
func Millis(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms < 1000:
		return digits(ms) + " ms"
	}
	return digits(ms/1000) + " s"
}
