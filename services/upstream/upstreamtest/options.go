// Package upstreamtest is a scriptable MCP server that speaks every published
// revision of the protocol, for tests, load runs and demonstrations.
//
// It keeps to the specification where a well-behaved client looks, and breaks
// it on demand: see [Server.SetFault]. Tool definitions and results are raw
// JSON and leave byte for byte as they were given.
package upstreamtest

import (
	"net/http"
	"slices"
	"time"
)

// Era is one revision of the Model Context Protocol, by its date.
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

// Stateless reports whether the revision knows no handshake and no session.
func (e Era) Stateless() bool { return e >= Era20260728 }

// AnswerMode says how an answer travels over Streamable HTTP.
type AnswerMode uint8

const (
	// AnswerAuto answers with JSON, and with SSE once the call sends a
	// notification or a request of its own first.
	AnswerAuto AnswerMode = iota
	// AnswerJSON always answers with JSON; notifications are dropped.
	AnswerJSON
	// AnswerSSE always answers with an event stream.
	AnswerSSE
)

// Options describe a server. The zero value speaks every era at /mcp, has no
// tools and asks for no token.
type Options struct {
	Name         string // serverInfo.name; "upstreamtest" when empty
	Version      string // serverInfo.version; "1.0.0" when empty
	Instructions string
	Path         string // of the endpoint; "/mcp" when empty
	Eras         []Era  // every era when empty
	Tools        []Tool
	Answer       AnswerMode
	PageSize     int    // tools per page of tools/list; 0: all in one
	Capabilities string // raw JSON object; tools with listChanged when empty

	// Methods answers further methods, such as resources/read. They are
	// served in every era.
	Methods map[string]Handler

	// Token is the bearer token that every request must carry. Authorize,
	// when set, decides instead. Challenge is the WWW-Authenticate value of
	// the refusal; a plain Bearer challenge when empty.
	Token     string
	Authorize func(*http.Request) bool
	Challenge string

	// Sessionless makes the revisions of 2025 mint no session id, which the
	// specification allows.
	Sessionless bool
	// NoStream answers GET with 405, as servers without messages of their
	// own do. HTTP+SSE is not affected.
	NoStream bool
	// AskOnStream makes [Call.Ask] send its requests on the GET stream of the
	// session, as servers do that do not tie them to a call.
	AskOnStream bool
	// Resumable gives the events of session eras ids, so that a broken
	// stream can be resumed by GET with Last-Event-ID.
	Resumable bool

	// TTL and CacheScope decorate cacheable results of the stateless era.
	// CacheScope is "private" when empty and credentials are asked for,
	// otherwise "public".
	TTL        time.Duration
	CacheScope string

	// Record bounds how many requests [Server.Requests] remembers: 1,000
	// when 0, none when negative.
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

// eras is what a server speaks, sorted by transport.
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

// negotiate returns the revision that initialize is answered with: the
// offered one when it is spoken, otherwise the newest of the transport.
func (e eras) negotiate(offered string, httpSSE bool) string {
	if slices.Contains(e.sessions, offered) {
		return offered
	}
	if httpSSE {
		return string(Era20241105)
	}
	return e.sessions[len(e.sessions)-1]
}
