package web

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
)

// refuseTwoLengths refuses a request that gives the length of its body twice,
// by Content-Length and by Transfer-Encoding, and ends its connection: a proxy
// that believes the other one would take the rest of the body for a request of
// its own (RFC 9112, section 6.3).
func refuseTwoLengths(c *fiber.Ctx) error {
	if !hasTwoLengths(c.Request().Header.RawHeaders()) {
		return c.Next()
	}
	c.Context().SetConnectionClose()
	return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "a request has a Content-Length or a Transfer-Encoding, and not both")
}

// hasTwoLengths reports whether both headers are among the lines of a request.
// The server has read the request already and kept only the one it believes.
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

// isNamed reports whether a line is the header of a name. What is no header is
// refused before, and so is a space before the colon.
func isNamed(line, name []byte) bool {
	return len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], name)
}

var (
	contentLength    = []byte(fiber.HeaderContentLength)
	transferEncoding = []byte(fiber.HeaderTransferEncoding)
)

// refuseUnknownMethods gives requests with a method that the server does not
// know the same kind of answer as all others, before handle would answer them
// with a line of text.
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

// closeUnread closes the connection behind the response to a request whose body
// was not read: what is left of it would be taken for the next request.
func closeUnread(handle fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		handle(ctx)
		if ctx.Request.IsBodyStream() {
			ctx.SetConnectionClose()
		}
	}
}
