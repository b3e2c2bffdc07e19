package servers

import (
	"strconv"
	"strings"
	"time"

	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Head is the heading of the pages of a server.
type Head struct {
	Slug string
	Row  Row
	Now  time.Time
}

func (h Head) url(rest string) string { return paths.Server(h.Slug, h.Row.ID) + rest }

// tabs returns the pages of the server.
func (h Head) tabs(current string) []ui.Tab {
	tools := ""
	if h.Row.Known > 0 {
		tools = ui.Count(h.Row.Known)
	}
	return []ui.Tab{
		{Label: "Overview", URL: h.url(""), Current: current == tabOverview},
		{Label: "Tools", URL: h.url("/filters"), Count: tools, Current: current == tabTools},
		{Label: "Calls", URL: callsURL(h.Slug, h.Row.Alias)},
		{Label: "Settings", URL: h.url("/edit"), Current: current == tabSettings},
	}
}

// The tabs of a server.
const (
	tabOverview = "overview"
	tabTools    = "tools"
	tabSettings = "settings"
)

// ServerProps describe one server.
type ServerProps struct {
	layout.Frame
	Head
	Controls  bool // the user may change the server
	Outage    Outage
	Process   *Process // of a program; otherwise nil
	Numbers   Numbers
	Log       Log
	Detail    Detail
	Hidden    []HiddenTool // reasons for tools that clients do not see
	Addresses []Address    // those with the server's alias
	Declared  bool         // in a runner's file; it can't be deleted here
	Error     string       // of a rejected deletion
	People    *People      // nil unless everyone uses their own account
}

// Outage describes a server that doesn't work. It is zero for others.
type Outage struct {
	Tries   int       // consecutive failures, as counted by this process
	Paused  bool      // calls fail without being sent
	NextTry time.Time // zero if none is planned
}

// Numbers are the numbers of the last 24 hours.
type Numbers struct {
	Calls, Failed             int
	CallsBefore, FailedBefore int // of the 24 hours before
	Compare                   bool
	P50, P50Before            time.Duration
	Latencies, Counts, Fails  []float64 // per half hour
}

// Log holds the last errors and calls.
type Log struct {
	Errors []ErrorGroup
	Failed int // failed calls of the last 24 hours
	Calls  []Call
}

// ErrorGroup is a cause of failures.
type ErrorGroup struct {
	Title       string
	Calls       int    // 0 if only the gateway's own requests failed
	Tool        string // if all calls are of one tool
	First, Last time.Time
	URL         string // of the calls; may be empty
}

// sub describes the extent of the failures.
func (g ErrorGroup) sub() string {
	switch {
	case g.Calls == 0:
		return "Seen by a sync"
	case g.Tool != "":
		return g.Tool + " · " + ui.Plural(g.Calls, "call", "calls")
	}
	return ui.Plural(g.Calls, "call", "calls")
}

// Call is a call in the list of recent ones.
type Call struct {
	At      time.Time
	Tool    string
	Caller  string
	Outcome admin.OutcomeState
	Took    time.Duration
	URL     string
}

// Detail holds the configuration of a server and what it reports about itself.
type Detail struct {
	Transport, TransportUsed  string
	AuthType                  string
	AuthBearer                string // "", "stored" or the reference
	Headers                   []string
	MissingHeaders            []string // required, without a value yet
	Personal                  bool     // everyone uses their own account
	PersonalHeaders           []string // whose values each person enters
	Timeout, MaxConcurrent    string
	TaskTimeout               string
	ResultLimit               string
	PinnedVersion             string // the protocol version of the settings; empty for auto
	SessionMode               string
	DefinitionPolicy          string
	AllowedTools, DenyTools   []string
	Implementation            string // name and version that the server reports
	ProtocolVersion           string
	Learned                   LearnedRevision
	Instructions              string
	Warnings                  []string
	Prompts, Resources        int
	OAuthClientID, OAuthScope string
	OwnClient                 bool // OAuth with client credentials
}

// LearnedRevision is the protocol revision of calls that can ask the client, as
// found by a failed call. The zero value means that none was learned.
type LearnedRevision struct {
	Revision, Reason string
	Since            time.Time
}

// HiddenTool is the number of tools that clients do not see for one reason.
type HiddenTool struct {
	Reason     string
	Count      int
	Reviewable bool // they can be approved
}

// badge returns the state in the heading: without the line of output of a program
// that starts, which the card of its process has.
func (h Head) badge() (tone ui.Tone, word string) {
	word = h.Row.word(h.Now)
	if h.Row.State.Kind == admin.StateStarting {
		word, _, _ = strings.Cut(word, ": ")
	}
	return h.Row.State.Tone, word
}

// consequence describes what clients notice of the outage.
func (p ServerProps) consequence() string {
	calls := "Calls to it fail"
	if p.Outage.Paused {
		calls = "Calls fail right away"
	}
	if p.Row.Known == 0 {
		return calls + ". No tools yet. We haven't been able to connect."
	}
	return calls + ", and clients still see " + itsTools(p.Row.Known) + " from the last successful sync."
}

func itsTools(n int) string {
	if n == 1 {
		return "its tool"
	}
	return "its " + ui.Count(n) + " tools"
}

// tries describes the number of failures so far, such as ", after 3 tries".
func (o Outage) tries() string {
	if o.Tries == 0 {
		return ""
	}
	return ", after " + ui.Plural(o.Tries, "try", "tries")
}

// next describes the next try.
func (p ServerProps) next() string {
	switch left := p.Outage.NextTry.Sub(p.Now); {
	case p.Outage.NextTry.IsZero():
		return "The next call tests the connection."
	case left <= 0:
		return "Trying now"
	default:
		return "Next try " + strings.NewReplacer(" seconds", " s", " second", " s", " minutes", " min", " minute", " min").Replace(ui.Remaining(p.Now, p.Outage.NextTry))
	}
}

// failedShare returns the share of failed calls in percent, with one decimal.
func (n Numbers) failedShare() string {
	if n.Calls == 0 {
		return "–"
	}
	return strings.TrimSuffix(strconv.FormatFloat(share(n.Failed, n.Calls), 'f', 1, 64), ".0")
}

// share returns failed calls in percent of all.
func share(failed, calls int) float64 { return 100 * float64(failed) / float64(max(1, calls)) }

// change returns the change of a number, which is not shown without a comparison.
func (n Numbers) change(now, before float64, better ui.Better) ui.Delta {
	if !n.Compare {
		return ui.Delta{}
	}
	return ui.Change(now, before, better)
}

// failedChange returns the change of the share of failed calls.
func (n Numbers) failedChange() ui.Delta {
	if !n.Compare || n.Calls == 0 {
		return ui.Delta{}
	}
	return ui.PointChange(share(n.Failed, n.Calls), share(n.FailedBefore, n.CallsBefore), ui.LessBetter)
}
