package web

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
)

const (
	// firstBody is the memory allocated for a request body before any of it has
	// arrived, in bytes. It is not part of the budget.
	firstBody = 4 << 10
	// bodyRetry is the Retry-After of a response to a body that exceeds the
	// budget.
	bodyRetry = 5 * time.Second
)

// BodyLimit returns the maximum length of the body of a request to the path, in
// bytes, at most MaxBody.
type BodyLimit func(path []byte, h *fasthttp.RequestHeader) int

// of returns the limit of a request: 0 for GET and HEAD, MaxBody for a nil l.
func (l BodyLimit) of(h *fasthttp.RequestHeader) int {
	switch {
	case h.IsGet(), h.IsHead():
		return 0
	case l == nil:
		return MaxBody
	}
	return l(pathOf(h.RequestURI()), h)
}

// pathOf returns the path of a request target, which may be an absolute URL
// (RFC 9112, section 3.2.2).
func pathOf(target []byte) []byte {
	if len(target) == 0 || target[0] != '/' {
		var u fasthttp.URI
		if u.Parse(nil, target) != nil {
			return nil
		}
		return u.PathOriginal()
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	return path
}

// rejectLongBodies configures the server to reject a request whose
// Content-Length exceeds the limit before its body is read. Of other bodies the
// server reads at most one byte. readBody reads the rest.
func rejectLongBodies(app *fiber.App, limit BodyLimit) {
	server := app.Server()
	server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		if h.ContentLength() > limit.of(h) {
			h.Set(fiber.HeaderExpect, "100-continue") // the server calls ExpectHandler first
		}
		return fasthttp.RequestConfig{MaxRequestBodySize: 1}
	}
	server.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
		most := limit.of(&ctx.Request.Header)
		if ctx.Request.Header.ContentLength() <= most {
			return fiber.StatusContinue
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		if err := app.ErrorHandler(c, bodyTooLarge(most)); err != nil {
			return fiber.StatusInternalServerError
		}
		return ctx.Response.StatusCode()
	}
}

// bodyBudget bounds the memory of all request bodies in flight, in bytes.
type bodyBudget struct {
	max   int64 // 0 means no limit
	taken atomic.Int64
}

// take reserves n more bytes and reports whether they fit.
func (b *bodyBudget) take(n int64) bool {
	if b.max > 0 && b.taken.Add(n) > b.max {
		b.taken.Add(-n)
		return false
	}
	return true
}

func (b *bodyBudget) release(n int64) {
	if b.max > 0 && n > 0 {
		b.taken.Add(-n)
	}
}

// readBody reads the body of a request into memory that grows with the bytes
// received, so an announced length alone costs no memory. It returns
// PAYLOAD_TOO_LARGE for a body above the limit, and UNAVAILABLE when the bodies
// of other requests exhaust the budget. After an error it closes the
// connection.
func readBody(limit BodyLimit, budget *bodyBudget) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !c.Request().IsBodyStream() {
			return c.Next()
		}
		h := &c.Request().Header
		r := bodyReader{from: c.Context().RequestBodyStream(), length: h.ContentLength(), budget: budget}
		if r.limit = r.length; r.length < 0 { // a known length was compared by rejectLongBodies
			r.limit = limit.of(h)
		}
		defer func() { budget.release(r.taken) }()
		if err := r.read(); err != nil {
			c.Context().SetConnectionClose()
			return err
		}
		c.Request().SetBodyRaw(r.body)
		EventOf(c).start = time.Now() // the duration excludes receiving the body
		return c.Next()
	}
}

// bodyReader reads one body.
type bodyReader struct {
	from   io.Reader
	length int // Content-Length; negative when unknown
	limit  int
	budget *bodyBudget
	taken  int64 // reserved from the budget, in bytes
	body   []byte
}

func (r *bodyReader) read() error {
	longest := r.length
	if r.length < 0 {
		longest = r.limit + 1 // one byte more, to detect a longer body
	}
	r.body = make([]byte, 0, min(longest, firstBody))
	for {
		if len(r.body) == cap(r.body) && len(r.body) < longest {
			if err := r.grow(longest); err != nil {
				return err
			}
		}
		n, err := r.from.Read(r.body[len(r.body):cap(r.body)])
		r.body = r.body[:len(r.body)+n]
		switch {
		case len(r.body) > r.limit:
			return bodyTooLarge(r.limit)
		case errors.Is(err, io.EOF) && len(r.body) >= r.length:
			return nil
		case err != nil:
			return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "The request body is incomplete or malformed.").Because(err)
		}
	}
}

// grow doubles the capacity of the body, up to longest bytes.
func (r *bodyReader) grow(longest int) error {
	size := min(2*cap(r.body), longest)
	more := int64(size - cap(r.body))
	if !r.budget.take(more) {
		f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many large requests are in progress. Retry later.")
		f.RetryAfter = bodyRetry
		return f
	}
	r.taken += more
	r.body = slices.Grow(r.body, size-len(r.body))[:len(r.body):size]
	return nil
}

func bodyTooLarge(limit int) error {
	if limit == 0 {
		return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "This request must not have a body.")
	}
	return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The request body is larger than %d bytes.", limit)
}
