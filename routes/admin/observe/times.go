package observe

import (
	"net/url"
	"time"

	"mcpgateway/services/activity/traffic"
	"mcpgateway/views/ui"
)

// defaultPeriod is the period of a page without parameters.
const defaultPeriod = "24h"

// oldestShown is the maximum age of the start of a period.
const oldestShown = 366 * 24 * time.Hour

// times are the period of a page, read from its parameters:
//
//	period=24h            the last 24 hours
//	period=24h&from=&to=  the same, with a selected part
//	from=&to=             this period
//	from=&to=&zoom=24h    this period, selected before in the last 24 hours
type times struct {
	period   traffic.Period
	name     string    // of the period; empty if it has only times
	zoom     string    // name of the period to return to; may be empty
	from, to time.Time // of the selection or of the period; zero without
}

// readTimes reads the parameters of a page. Invalid ones are ignored.
func readTimes(values url.Values, now time.Time) times {
	from, to := readTime(values.Get("from"), now), readTime(values.Get("to"), now)
	if !from.Before(to) {
		from, to = time.Time{}, time.Time{}
	}
	name := values.Get("period")
	period, named := traffic.Last(name, now)
	if !named && !from.IsZero() {
		if period, ok := traffic.Between(from, to, now); ok {
			t := times{period: period, from: from, to: to}
			if _, ok := traffic.Last(values.Get("zoom"), now); ok {
				t.zoom = values.Get("zoom")
			}
			return t
		}
	}
	if !named {
		name = defaultPeriod
		period, _ = traffic.Last(name, now)
	}
	if !from.Before(period.To) || !to.After(period.From) {
		from, to = time.Time{}, time.Time{}
	}
	return times{period: period, name: name, from: from, to: to}
}

// readTime reads a time in UTC, of a link or of a form. It returns the zero time
// for an invalid one, and for one that is out of range.
func readTime(text string, now time.Time) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			if at.Before(now.Add(-oldestShown)) || at.After(now.Add(24*time.Hour)) {
				return time.Time{}
			}
			return at.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}

// custom reports whether the period has only times.
func (t times) custom() bool { return t.name == "" }

// selected reports whether a part of the period is selected.
func (t times) selected() bool { return t.name != "" && !t.from.IsZero() }

// listed returns the times of the listed calls: of the selection, or of the
// period.
func (t times) listed() (from, to time.Time) {
	if t.selected() {
		return t.from, t.to
	}
	return t.period.From, t.period.To
}

// listedPeriod returns the period of the listed calls.
func (t times) listedPeriod(now time.Time) traffic.Period {
	if t.selected() {
		if p, ok := traffic.Between(t.from, t.to, now); ok {
			// Whole seconds, not rounded to steps as in a chart.
			return traffic.Period{From: t.from, To: t.to, Step: t.to.Sub(t.from), Unfinished: min(p.Unfinished, t.to.Sub(t.from))}
		}
	}
	return t.period
}

// values sets the parameters of the times.
func (t times) set(v url.Values) {
	if t.name != "" {
		v.Set("period", t.name)
	}
	if !t.from.IsZero() {
		v.Set("from", t.from.Format(time.RFC3339))
		v.Set("to", t.to.Format(time.RFC3339))
	}
	if t.zoom != "" {
		v.Set("zoom", t.zoom)
	}
}

// last returns the times of a named period.
func last(name string) times { return times{name: name} }

// zoomed returns the times of the selection as a period.
func (t times) zoomed() times { return times{from: t.from, to: t.to, zoom: t.name} }

// out returns the times to return to from a selection or a period of times, and
// false if there are none.
func (t times) out() (times, bool) {
	switch {
	case t.selected():
		return last(t.name), true
	case t.custom() && t.zoom != "":
		return times{name: t.zoom, from: t.from, to: t.to}, true
	case t.custom():
		return last(defaultPeriod), true
	}
	return times{}, false
}

// moved returns the times of the period before or after this one, and false if
// that begins in the future.
func (t times) moved(to traffic.Period, now time.Time) (times, bool) {
	return times{from: to.From, to: to.To}, to.From.Before(now) && to.From.After(now.Add(-oldestShown))
}

// previousWords returns the name of the period before.
func (t times) previousWords() string {
	switch t.name {
	case "1h":
		return "Hour before"
	case "6h":
		return "6 hours before"
	case "24h":
		return "Day before"
	case "7d":
		return "Week before"
	case "30d":
		return "30 days before"
	}
	return "Period before"
}

// axis returns the time axis of the period.
func (t times) axis() ui.Axis {
	return ui.Axis{From: t.period.From, Step: t.period.Step, Count: int(t.period.To.Sub(t.period.From) / t.period.Step)}
}
