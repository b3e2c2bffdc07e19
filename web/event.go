package web

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/web/forwarded"
)

// Event describes one request. It becomes one log line when the request ends.
// Handlers fill in the exported fields.
type Event struct {
	RequestID string
	Route     string // pattern of the URL; empty without a matching route
	Project   string
	Method    string // JSON-RPC method
	Tool      string
	Upstream  string

	// Background starts the goroutines of the request. It may be nil.
	Background *background.Tasks

	help     Help
	start    time.Time
	end      time.Time
	trace    traceContext
	own      string            // trace ID of a trace that starts with this request
	proxies  forwarded.Proxies // trusted to report the client's address
	clientIP string            // set by ClientIP
	code     fault.Code
	err      error

	holds atomic.Int32 // number of unfinished users, including the middleware
	line  requestLine
	write func(*Event)
}

// requestLine has the fields of the log line from the HTTP request.
type requestLine struct {
	ctx              context.Context
	method, path, ip string
	status           int
}

// HeaderRequestID is the response header with the ID of the request.
const HeaderRequestID = "X-Request-Id"

// eventKey is the key in a request's locals that holds its event.
type eventKey struct{}

// EventOf returns the event of the request.
func EventOf(c *fiber.Ctx) *Event {
	if e, ok := c.Locals(eventKey{}).(*Event); ok {
		return e
	}
	return beginEvent(c, newRequestID(), time.Now())
}

// beginEvent creates the event of a request that started at start.
func beginEvent(c *fiber.Ctx, id requestID, start time.Time) *Event {
	e := &Event{RequestID: id.uuid, own: id.trace, start: start, trace: traceOf(c)}
	e.holds.Store(1)
	c.Locals(eventKey{}, e)
	return e
}

// beganAt returns when the server had read the request.
func beganAt(c *fiber.Ctx) time.Time {
	if at := c.Context().Time(); !at.IsZero() {
		return at
	}
	return time.Now() // a request that did not come through a server
}

// Hold delays the log line until Release, for a request that continues after
// its handler returns. Between the two calls only the holder may change the
// event.
func (e *Event) Hold() { e.holds.Add(1) }

// Release ends a Hold. The last one writes the log line.
func (e *Event) Release() {
	if e.holds.Add(-1) == 0 && e.write != nil {
		e.end = time.Now()
		e.write(e)
	}
}

// Fault records the failure of the request.
func (e *Event) Fault(err error) {
	f := fault.From(err)
	e.code = f.Code
	if errors.Is(err, context.Canceled) {
		e.code = fault.CodeCancelled // the client disconnected; this is not an error
		return
	}
	switch {
	case f.Detail != "" && f.Cause != nil:
		e.err = fmt.Errorf("%s: %w", f.Detail, f.Cause)
	case f.Detail != "":
		e.err = errors.New(f.Detail)
	case f.Cause != nil:
		e.err = f.Cause
	}
}

// Refused records the error code of a malformed request.
func (e *Event) Refused(code fault.Code) {
	if e.code == "" {
		e.code = code
	}
}

var keyText = regexp.MustCompile(`(gwk_)[0-9A-Za-z]+|(gw[cr]_)[0-9A-Za-z]{36}`)

// maskKeys masks keys and tokens that a client put in the wrong place.
func maskKeys(s string) string {
	if !strings.Contains(s, "gw") {
		return s
	}
	return keyText.ReplaceAllString(s, "$1$2…")
}

// logRequests logs one line per request with its client's address, counts it
// and records its span. counter and spans may be nil.
func logRequests(log requestLog, trusted forwarded.Proxies, counter RequestCounter, spans Spans, tasks *background.Tasks, help Help) fiber.Handler {
	write := func(e *Event) {
		log.write(e)
		if spans != nil {
			e.report(spans)
		}
	}
	return func(c *fiber.Ctx) error {
		e := beginEvent(c, newRequestID(), beganAt(c))
		e.proxies, e.Background, e.help = trusted, tasks, help
		if spans != nil {
			e.sample(spans)
		}
		c.Set(HeaderRequestID, e.RequestID)
		if err := c.Next(); err != nil {
			// The error handler runs here, so that the line has the final
			// status.
			if err := c.App().ErrorHandler(c, err); err != nil {
				return err
			}
		}
		e.line = requestLine{ctx: c.UserContext(), method: c.Method(), path: c.Path(), ip: ClientIP(c), status: c.Response().StatusCode()}
		e.end, e.write = time.Now(), write
		if counter != nil {
			counter.Request(e.line.method, e.Route, e.line.status, e.end.Sub(e.start))
		}
		if e.holds.Add(-1) == 0 {
			write(e)
		}
		return nil
	}
}
