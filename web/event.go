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

// Event is what one request did: it becomes one log line when the request
// ends. Handlers fill in what they learn.
type Event struct {
	RequestID string
	Route     string // pattern of the URL; empty when no route has it
	Project   string
	Method    string // of JSON-RPC
	Tool      string
	Upstream  string

	// Background starts the goroutines of the request. It may be nil.
	Background *background.Tasks

	help     Help
	start    time.Time
	end      time.Time
	trace    traceContext
	own      string            // the id of the trace that begins with the request
	proxies  forwarded.Proxies // trusted to give the client's address
	clientIP string            // once ClientIP was called
	code     fault.Code
	err      error

	holds atomic.Int32 // of those that still learn something, the middleware included
	line  requestLine
	write func(*Event)
}

// requestLine is what the log line says of the HTTP request.
type requestLine struct {
	ctx              context.Context
	method, path, ip string
	status           int
}

// HeaderRequestID carries the id of a request in its answer.
const HeaderRequestID = "X-Request-Id"

// eventKey is under what a request keeps its event.
type eventKey struct{}

// EventOf returns the event of the request.
func EventOf(c *fiber.Ctx) *Event {
	if e, ok := c.Locals(eventKey{}).(*Event); ok {
		return e
	}
	return beginEvent(c, newRequestID(), time.Now())
}

// beginEvent gives a request that began at start its event.
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
	return time.Now() // a request that no server read
}

// Hold delays the log line until Release, for a request that is not over when
// its handler returns. Between the two only the holder changes the event.
func (e *Event) Hold() { e.holds.Add(1) }

// Release ends a Hold. The last one writes the log line.
func (e *Event) Release() {
	if e.holds.Add(-1) == 0 && e.write != nil {
		e.end = time.Now()
		e.write(e)
	}
}

// Fault records how the request failed.
func (e *Event) Fault(err error) {
	f := fault.From(err)
	e.code = f.Code
	if errors.Is(err, context.Canceled) {
		e.code = fault.CodeCancelled // whoever asked has gone; nothing is wrong
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

// Refused records the code of a request that could not be read.
func (e *Event) Refused(code fault.Code) {
	if e.code == "" {
		e.code = code
	}
}

var keyText = regexp.MustCompile(`gwk_[0-9A-Za-z]+`)

// withoutKeys masks API keys that were put where they do not belong.
func withoutKeys(s string) string {
	if !strings.Contains(s, "gwk_") {
		return s
	}
	return keyText.ReplaceAllString(s, "gwk_…")
}

// logRequests writes one line per request, with its client's address, and has it
// counted and recorded; counter and spans may be nil.
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
			// Answered here, so that the line knows the final status.
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
