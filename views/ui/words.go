package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count returns n with a comma between thousands, such as "12,480".
func Count(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(s[i])
	}
	return sign + b.String()
}

// Plural returns n with its word, such as "1 tool" or "2 tools".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Sentence returns s with a full stop unless it ends with punctuation.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsRune(".?!…", []rune(s)[len([]rune(s))-1]) {
		return s
	}
	return s + "."
}

const day = 24 * time.Hour

// Ago returns the time from at to now in words, such as "5 min ago" or "in 2 h". It
// returns "never" for the zero time.
func Ago(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	d := now.Sub(at)
	if d < 0 {
		if -d < time.Minute {
			return "in a moment"
		}
		return "in " + span(-d)
	}
	if d < time.Minute {
		return "just now"
	}
	return span(d) + " ago"
}

// span returns a length of at least a minute in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < day:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	case d < 60*day:
		return Plural(int(d/day), "day", "days")
	case d < 2*365*day:
		return Plural(int(d/(30*day)), "month", "months")
	}
	return Plural(int(d/(365*day)), "year", "years")
}

// Seconds returns milliseconds as seconds without trailing zeros.
func Seconds(ms int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", float64(ms)/1000), "0"), ".")
}

// Beginning returns the first characters of a text.
func Beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:min(most, len(r))])
}

// namesShown is the maximum number of names in a message.
const namesShown = 5

// FirstOf returns the first names of a list as text.
func FirstOf(names []string) string {
	shown := make([]string, 0, namesShown)
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, Clean(name))
	}
	text := strings.Join(shown, ", ")
	if len(names) > namesShown {
		text += " …"
	}
	return text
}
