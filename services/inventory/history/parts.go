package history

import (
	"time"

	"mcpgateway/models"
)

// Part is a part of a period: for how long a server was up and down in it. The
// rest is unknown.
type Part struct {
	Start    time.Time
	Up, Down time.Duration
}

// Parts divides the period from from to to into n parts of equal length. rows are
// the observations of one server, oldest first.
func Parts(rows []models.ServerState, from, to time.Time, n int) []Part {
	parts, step := make([]Part, n), to.Sub(from)/time.Duration(n)
	for i := range parts {
		parts[i].Start = from.Add(time.Duration(i) * step)
	}
	for i, row := range rows {
		end := row.At.Add(Valid)
		if i+1 < len(rows) && rows[i+1].At.Before(end) {
			end = rows[i+1].At
		}
		spread(parts, step, row.State, row.At, end, to)
	}
	return parts
}

// spread adds the time from at to end to the parts that it overlaps.
func spread(parts []Part, step time.Duration, state models.ServerStateKind, at, end, to time.Time) {
	if end.After(to) {
		end = to
	}
	for i := range parts {
		start, stop := parts[i].Start, parts[i].Start.Add(step)
		if at.After(start) {
			start = at
		}
		if end.Before(stop) {
			stop = end
		}
		overlap := stop.Sub(start)
		switch {
		case overlap <= 0:
		case state == models.ServerUp:
			parts[i].Up += overlap
		case state == models.ServerDown:
			parts[i].Down += overlap
		}
	}
}

// Availability returns the share of the known time in which a server was up. known
// is false if nothing is known.
func Availability(parts []Part) (share float64, known bool) {
	var up, down time.Duration
	for _, p := range parts {
		up, down = up+p.Up, down+p.Down
	}
	if up+down == 0 {
		return 0, false
	}
	return float64(up) / float64(up+down), true
}

// DownSince returns the time of the first of the latest consecutive failures. It is
// zero if the latest observation is not a failure.
func DownSince(rows []models.ServerState) time.Time {
	var since time.Time
	for i := len(rows) - 1; i >= 0 && rows[i].State == models.ServerDown; i-- {
		since = rows[i].At
	}
	return since
}
