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
	// firstBody is the memory that a request body gets before any of it has
	// arrived, in bytes. It is not part of the budget.
	firstBody = 4 << 10
	// bodyRetry is the Retry-After of a body that finds the budget exhausted.
	bodyRetry = 5 * time.Second
)

// BodyLimit returns the maximum length of the body of a request to the path, in
// bytes, at most MaxBody.
type BodyLimit func(path []byte, h *fasthttp.RequestHeader) int

// of returns the limit of a request. GET and HEAD have no body.
func (l BodyLimit) of(h *fasthttp.RequestHeader) int {
	switch {
	case h.IsGet(), h.IsHead():
		return 0
	case l == nil:
		return MaxBody
	}
	return l(pathOf(h.RequestURI()), h)
}

// pathOf returns the path of a request target, which may be a whole URL (RFC
// 9112, section 3.2.2).
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

// refuseLongBodies sets up the server to respond to a request that announces a
// longer body than the limit before it reads any of it. Of other bodies it reads
// at most one byte; the rest is left to readBody.
func refuseLongBodies(app *fiber.App, limit BodyLimit) {
	server := app.Server()
	server.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		if h.ContentLength() > limit.of(h) {
			h.Set(fiber.HeaderExpect, "100-continue") // the server asks ExpectHandler first
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
	max   int64 // 0 means unlimited
	taken atomic.Int64
}

// take reports whether n more bytes fit, and counts them if so.
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

// readBody reads the body of a request in pieces that grow with what arrives,
// so that a length that is only announced costs no memory. It returns
// PAYLOAD_TOO_LARGE for a longer body than limit allows, and UNAVAILABLE when
// the bodies of other requests exhaust the budget. The connection of a body that
// was not read is closed.
func readBody(limit BodyLimit, budget *bodyBudget) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !c.Request().IsBodyStream() {
			return c.Next()
		}
		h := &c.Request().Header
		r := bodyReader{from: c.Context().RequestBodyStream(), length: h.ContentLength(), budget: budget}
		if r.limit = r.length; r.length < 0 { // otherwise refuseLongBodies has compared them
			r.limit = limit.of(h)
		}
		defer func() { budget.release(r.taken) }()
		if err := r.read(); err != nil {
			c.Context().SetConnectionClose()
			return err
		}
		c.Request().SetBodyRaw(r.body)
		EventOf(c).start = time.Now() // a request begins when it was read
		return c.Next()
	}
}

// bodyReader reads one body.
type bodyReader struct {
	from   io.Reader
	length int // as announced; negative when unknown
	limit  int
	budget *bodyBudget
	taken  int64 // of the budget
	body   []byte
}

func (r *bodyReader) read() error {
	longest := r.length
	if r.length < 0 {
		longest = r.limit + 1 // to notice that there is more
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
			return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "The request body is incomplete or badly framed.").Because(err)
		}
	}
}

// grow doubles the memory of the body, up to its longest.
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
