package web

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
)

// rejectAmbiguousLength rejects a request with both Content-Length and
// Transfer-Encoding, and closes its connection. A proxy that uses the other
// header would treat the rest of the body as a separate request (RFC 9112,
// section 6.3).
func rejectAmbiguousLength(c *fiber.Ctx) error {
	if !hasTwoLengths(c.Request().Header.RawHeaders()) {
		return c.Next()
	}
	c.Context().SetConnectionClose()
	return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "Send either Content-Length or Transfer-Encoding, not both.")
}

// hasTwoLengths reports whether the raw header lines contain both headers. The
// parsed request has only the one that the server used.
func hasTwoLengths(headers []byte) bool {
	var length, encoding bool
	for len(headers) > 0 {
		line := headers
		if end := bytes.IndexByte(headers, '\n'); end >= 0 {
			line, headers = headers[:end], headers[end+1:]
		} else {
			headers = nil
		}
		if len(line) == 0 {
			continue
		}
		switch line[0] {
		case 'C', 'c':
			length = length || isNamed(line, contentLength)
		case 'T', 't':
			encoding = encoding || isNamed(line, transferEncoding)
		}
	}
	return length && encoding
}

// isNamed reports whether a line is the header with the name. The server has
// already rejected malformed lines and spaces before the colon.
func isNamed(line, name []byte) bool {
	return len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], name)
}

var (
	contentLength    = []byte(fiber.HeaderContentLength)
	transferEncoding = []byte(fiber.HeaderTransferEncoding)
)

// refuseUnknownMethods responds to unknown methods with the usual error. Fiber's
// handler would send a line of plain text.
func refuseUnknownMethods(app *fiber.App, handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	known := map[string]bool{}
	for _, method := range app.Config().RequestMethods {
		known[method] = true
	}
	return func(ctx *fasthttp.RequestCtx) {
		if ctx.IsPost() || ctx.IsGet() || known[string(ctx.Method())] {
			handle(ctx)
			return
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		if err := app.ErrorHandler(c, fiber.ErrMethodNotAllowed); err != nil {
			c.Status(fiber.StatusInternalServerError)
		}
	}
}

// closeIfUnread closes the connection after the response if the body was not
// read. Unread bytes would be parsed as the next request.
func closeIfUnread(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		handle(ctx)
		if ctx.Request.IsBodyStream() {
			ctx.SetConnectionClose()
		}
	}
}
