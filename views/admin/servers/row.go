package servers

import (
	"strconv"
	"strings"
	"time"

	"mcpgateway/views/admin"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Row is one server.
type Row struct {
	ID, Alias, URL string
	Icon           string // path of its icon in the catalog; empty for none
	Place          string // where a program runs; empty for a server with a URL
	OAuth          bool
	Personal       bool // everyone uses their own account
	Enabled        bool
	State          admin.ServerState
	Since          time.Time      // of the state down; zero if unknown
	Failure        *admin.Failure // nil if it works or was never contacted
	Tools, Known   int            // on, and in total
	MS             int64          // median latency; 0 without calls
	SyncedAt       *time.Time     // last successful sync; nil is never
	TriedAt        *time.Time     // last sync, successful or not; nil is never
	Availability   Availability
}

// Availability is the share of the last 24 hours in which a server was up.
type Availability struct {
	Known bool
	Share float64   // of the known time, from 0 to 1
	Parts []ui.Tone // oldest first
}

// Percent returns the share with one decimal, rounded down, so that 100% means no
// failure.
func (a Availability) Percent() string {
	if !a.Known {
		return "No data yet"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(int(a.Share*1000))/10, 'f', 1, 64), ".0") + "%"
}

// label describes the bar to screen readers.
func (a Availability) label(alias string) string {
	name := "Availability of " + alias + " in the last 24 hours: "
	if !a.Known {
		return name + "no data yet"
	}
	down, partly := 0, 0
	for _, part := range a.Parts {
		switch part {
		case ui.Bad:
			down++
		case ui.Warn:
			partly++
		}
	}
	return name + a.Percent() + ", down in " + strconv.Itoa(down) + " and partly down or slow in " + strconv.Itoa(partly) + " of " + strconv.Itoa(len(a.Parts)) + " parts"
}

// connects reports whether the next step is to authorize the gateway.
func (r Row) connects() bool {
	return (r.OAuth || r.Personal) && (r.State.Kind == admin.StateReconnect || r.State.Kind == admin.StateUnconnected)
}

// connectLabel returns the label of the link that authorizes the gateway.
func (r Row) connectLabel() string {
	if r.State.Kind == admin.StateUnconnected {
		return "Connect"
	}
	return "Reconnect"
}

// connectURL returns where the user authorizes the gateway, or connects their own
// account.
func (r Row) connectURL() string {
	if r.Personal {
		return paths.MyConnection(r.ID)
	}
	return paths.StartConnection(r.ID)
}

// toolCount returns the number of tools that are on, with the total if some are
// off.
func (r Row) toolCount() string {
	switch {
	case r.Known == 0:
		return "–"
	case r.Tools == r.Known:
		return ui.Count(r.Known)
	}
	return ui.Count(r.Tools) + " of " + ui.Count(r.Known)
}

// word returns the state, with its duration if the server is down.
func (r Row) word(now time.Time) string {
	if r.Place != "" || r.State.Kind != admin.StateDown || r.Since.IsZero() || now.Sub(r.Since) < time.Minute {
		return r.State.Word
	}
	return "Down for " + strings.TrimSuffix(ui.Ago(now, r.Since), " ago")
}

func (r Row) latency() string {
	if r.MS == 0 {
		return "–"
	}
	return ui.Took(time.Duration(r.MS) * time.Millisecond)
}

// callsURL returns the calls of a server in the activity of its project.
func callsURL(slug, alias string) string { return paths.Activity(slug) + "?query=server%3A" + alias }

// address returns a URL without its scheme, for narrow columns.
func address(url string) string {
	url = ui.Clean(url)
	_, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	return strings.TrimSuffix(rest, "/")
}
