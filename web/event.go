package web

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mcpgateway/services/fault"
)

// Event is what one request did: it becomes one log line when the request
// ends. Handlers fill in what they learn.
type Event struct {
	RequestID string
	Project   string
	Method    string // of JSON-RPC
	Tool      string
	Upstream  string

	start time.Time
	code  fault.Code
	err   error
}

// HeaderRequestID carries the id of a request in its answer.
const HeaderRequestID = "X-Request-Id"

const eventKey = "event"

// EventOf returns the event of the request.
func EventOf(c *fiber.Ctx) *Event {
	if e, ok := c.Locals(eventKey).(*Event); ok {
		return e
	}
	e := &Event{RequestID: uuid.NewString(), start: time.Now()}
	c.Locals(eventKey, e)
	return e
}

// Fault records how the request failed.
func (e *Event) Fault(err error) {
	f := fault.From(err)
	e.code = f.Code
	if f.Cause != nil {
		e.err = f.Cause
	}
}

// Refused records the code of a request that could not be read.
func (e *Event) Refused(code fault.Code) {
	if e.code == "" {
		e.code = code
	}
}

// logRequests writes one line per request.
func logRequests(log *slog.Logger) fiber.Handler {
	return func(c *fiber.Ctx) error {
		e := EventOf(c)
		c.Set(HeaderRequestID, e.RequestID)
		if err := c.Next(); err != nil {
			// Answered here, so that the line knows the final status.
			if err := c.App().ErrorHandler(c, err); err != nil {
				return err
			}
		}
		level := slog.LevelInfo
		status := c.Response().StatusCode()
		switch {
		case status >= 500 || e.err != nil:
			level = slog.LevelError
		case c.Path() == "/healthz" || c.Path() == "/readyz" || c.Path() == "/metrics":
			level = slog.LevelDebug
		}
		if !log.Enabled(c.UserContext(), level) {
			return nil
		}
		attrs := make([]slog.Attr, 0, 12)
		attrs = append(attrs,
			slog.String("request_id", e.RequestID), slog.String("method", c.Method()), slog.String("path", clip(c.Path(), 256)),
			slog.Int("status", status), slog.Float64("ms", float64(time.Since(e.start).Microseconds())/1000), slog.String("ip", c.IP()))
		for _, a := range [...]struct{ key, value string }{
			{"project", e.Project}, {"rpc", e.Method}, {"tool", e.Tool}, {"upstream", e.Upstream}, {"code", string(e.code)},
		} {
			if a.value != "" {
				attrs = append(attrs, slog.String(a.key, a.value))
			}
		}
		if e.err != nil {
			attrs = append(attrs, slog.String("error", e.err.Error()))
		}
		log.LogAttrs(c.UserContext(), level, "request", attrs...)
		return nil
	}
}
