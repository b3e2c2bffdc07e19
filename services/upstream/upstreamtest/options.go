// Package upstreamtest is a scriptable MCP server that supports every published
// revision of the protocol, for tests, load tests and demos.
//
// It conforms to the specification by default and breaks it on demand: see
// [Server.SetFault]. Tool definitions and results are raw JSON and sent
// unchanged.
package upstreamtest

import (
	"net/http"
	"slices"
	"time"
)

// Era is a revision of the Model Context Protocol, by date.
type Era string

// The published revisions. Any later date also counts as stateless.
const (
	Era20241105 Era = "2024-11-05" // HTTP+SSE: replies come on the GET stream
	Era20250326 Era = "2025-03-26" // Streamable HTTP, sessions, batches
	Era20250618 Era = "2025-06-18" // Streamable HTTP, sessions, version header
	Era20251125 Era = "2025-11-25" // Streamable HTTP, sessions, resumable streams
	Era20260728 Era = "2026-07-28" // stateless, POST only
)

// AllEras returns every published revision, oldest first.
func AllEras() []Era {
	return []Era{Era20241105, Era20250326, Era20250618, Era20251125, Era20260728}
}

// Stateless reports whether the revision has no handshake and no sessions.
func (e Era) Stateless() bool { return e >= Era20260728 }

// ResponseMode selects the format of Streamable HTTP responses.
type ResponseMode uint8

const (
	// AnswerAuto responds with JSON, or with SSE if the call first sends a
	// notification or a request.
	AnswerAuto ResponseMode = iota
	// AnswerJSON always responds with JSON. Notifications are dropped.
	AnswerJSON
	// AnswerSSE always responds with an event stream.
	AnswerSSE
)

// Options configure a server. The zero value supports every era at /mcp, has no
// tools and requires no token.
type Options struct {
	Name         string // serverInfo.name; "upstreamtest" when empty
	Version      string // serverInfo.version; "1.0.0" when empty
	Instructions string
	Path         string // path of the endpoint; "/mcp" if empty
	Eras         []Era  // every era when empty
	Tools        []Tool
	Answer       ResponseMode
	PageSize     int    // tools per page of tools/list; 0: all in one
	Capabilities string // raw JSON object; tools with listChanged when empty

	// Methods handles additional methods, such as resources/read, in every era.
	Methods map[string]Handler

	// Tasks are the settings of tools with a Task.
	Tasks Tasks

	// Token is the bearer token required in every request. Authorize replaces
	// that check if it is set. Challenge is the WWW-Authenticate value of a
	// rejection; a plain Bearer challenge if empty.
	Token     string
	Authorize func(*http.Request) bool
	Challenge string

	// Sessionless disables session ids in the revisions of 2025, which
	// the specification allows.
	Sessionless bool
	// NoStream responds to GET with 405, like servers that send no messages. It
	// doesn't apply to HTTP+SSE.
	NoStream bool
	// AskOnStream selects whether [Call.Ask] sends its requests on the GET stream
	// of the session, like servers that don't tie them to a call.
	AskOnStream bool
	// Resumable adds ids to the events of session eras, so that a broken stream
	// can be resumed by GET with Last-Event-ID.
	Resumable bool

	// TTL and CacheScope are set in cacheable results of the stateless era. The
	// default CacheScope is "private" if credentials are required, otherwise
	// "public".
	TTL        time.Duration
	CacheScope string

	// Record is the maximum number of requests stored for [Server.Requests]:
	// 1,000 if 0, none if negative.
	Record int
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "upstreamtest"
	}
	if o.Version == "" {
		o.Version = "1.0.0"
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if len(o.Eras) == 0 {
		o.Eras = AllEras()
	}
	o.Eras = slices.Clone(o.Eras)
	slices.Sort(o.Eras)
	if o.Capabilities == "" {
		o.Capabilities = `{"tools":{"listChanged":true}}`
	}
	if o.Challenge == "" {
		o.Challenge = `Bearer realm="upstreamtest"`
	}
	if o.CacheScope == "" {
		o.CacheScope = "public"
		if o.Token != "" || o.Authorize != nil {
			o.CacheScope = "private"
		}
	}
	if o.Record == 0 {
		o.Record = defaultRecorded
	}
	return o
}

// eras are a server's eras, grouped by transport.
type eras struct {
	httpSSE  bool     // 2024-11-05
	sessions []string // Streamable HTTP with a handshake, oldest first
	modern   []string // stateless, oldest first
	all      []string
}

func splitEras(list []Era) eras {
	var e eras
	for _, v := range list {
		e.all = append(e.all, string(v))
		switch {
		case v.Stateless():
			e.modern = append(e.modern, string(v))
		case v == Era20241105:
			e.httpSSE = true
		default:
			e.sessions = append(e.sessions, string(v))
		}
	}
	return e
}

// negotiate returns the revision for the response to initialize: the offered
// one if supported, otherwise the newest of the transport. httpSSE selects the
// transport of 2024-11-05.
func (e eras) negotiate(offered string, httpSSE bool) string {
	if slices.Contains(e.sessions, offered) {
		return offered
	}
	if httpSSE {
		return string(Era20241105)
	}
	return e.sessions[len(e.sessions)-1]
}

// negotiateStdio is like negotiate over standard input and output, where all
// revisions with a handshake have the same transport. It returns "" if none is
// supported.
func (e eras) negotiateStdio(offered string) string {
	switch {
	case slices.Contains(e.sessions, offered):
		return offered
	case e.httpSSE && (offered == string(Era20241105) || len(e.sessions) == 0):
		return string(Era20241105)
	case len(e.sessions) > 0:
		return e.sessions[len(e.sessions)-1]
	}
	return ""
}
