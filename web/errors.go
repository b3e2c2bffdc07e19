package web

import (
	"errors"
	"math"
	"strconv"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// statusOf maps kinds of faults to HTTP statuses. It is the only such mapping.
func statusOf(kind fault.Kind) int {
	switch kind {
	case fault.KindInvalid:
		return fiber.StatusBadRequest
	case fault.KindUnauthorized:
		return fiber.StatusUnauthorized
	case fault.KindForbidden:
		return fiber.StatusForbidden
	case fault.KindNotFound, fault.KindUnknownMethod:
		return fiber.StatusNotFound
	case fault.KindMethodNotAllowed:
		return fiber.StatusMethodNotAllowed
	case fault.KindNotAcceptable:
		return fiber.StatusNotAcceptable
	case fault.KindConflict, fault.KindDisabled:
		return fiber.StatusConflict
	case fault.KindValidation:
		return fiber.StatusUnprocessableEntity
	case fault.KindTooLarge:
		return fiber.StatusRequestEntityTooLarge
	case fault.KindHeadersTooLarge:
		return fiber.StatusRequestHeaderFieldsTooLarge
	case fault.KindUnsupportedMedia:
		return fiber.StatusUnsupportedMediaType
	case fault.KindRateLimited:
		return fiber.StatusTooManyRequests
	case fault.KindUnavailable:
		return fiber.StatusServiceUnavailable
	case fault.KindStorageFull:
		return fiber.StatusInsufficientStorage
	case fault.KindUpstream:
		return fiber.StatusBadGateway
	case fault.KindLoop:
		return fiber.StatusLoopDetected
	default:
		return fiber.StatusInternalServerError
	}
}

// StatusOf returns the HTTP status of err, for handlers that render their own
// error page.
func StatusOf(err error) int { return statusOf(fault.From(err).Kind) }

// errorBody is the JSON form of a fault outside JSON-RPC.
type errorBody struct {
	Code      fault.Code        `json:"code"`
	Message   string            `json:"message"`
	Restart   bool              `json:"restart"`
	Span      *fault.Span       `json:"span,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
	RequestID string            `json:"requestId,omitempty"`
	Help      string            `json:"help,omitempty"`
}

// ErrorPage renders the page that a browser shows for a failed request.
type ErrorPage func(c *fiber.Ctx, status int, message, requestID string) templ.Component

// errorPageKey is the key in a request's locals that AllowErrorPage sets.
type errorPageKey struct{}

// AllowErrorPage enables the error page in browsers for any method. By default
// only failed GET requests get the page.
func AllowErrorPage(c *fiber.Ctx) { c.Locals(errorPageKey{}, true) }

// errorHandler responds to every error that a handler returns: with JSON, or
// with a page if the client accepts HTML. The texts of errors that are not faults
// are only logged.
func errorHandler(page ErrorPage, help Help) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		f := faultOf(c, err)
		event := EventOf(c)
		event.Fault(f)
		if f.RetryAfter > 0 {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		}
		c.Set(fiber.HeaderCacheControl, "no-store")
		c.Status(statusOf(f.Kind))
		if page != nil && wantsHTML(c) && (c.Method() == fiber.MethodGet || c.Locals(errorPageKey{}) != nil) {
			return Render(c, page(c, statusOf(f.Kind), f.Message, event.RequestID))
		}
		message := f.Message
		if f.Kind == fault.KindUpstream { // MCP clients get these as JSON-RPC errors
			message = f.AdminMessage()
		}
		body := errorBody{Code: f.Code, Message: message, Restart: f.Restart, Span: f.Span, Fields: f.Fields, RequestID: event.RequestID, Help: ErrorContext{help: help}.Help(f.Code)}
		if f.Kind == fault.KindUnauthorized {
			// Rejected callers get identical bytes whatever the reason. The
			// request ID is in the header.
			body.RequestID = ""
		}
		return c.JSON(body)
	}
}

// faultOf converts Fiber's own errors to faults and returns other faults
// unchanged.
func faultOf(c *fiber.Ctx, err error) *fault.Fault {
	var own *fiber.Error
	if !errors.As(err, &own) {
		return fault.From(err)
	}
	switch own.Code {
	case fiber.StatusNotFound:
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "Not found: %s %s.", c.Method(), clip(c.Path(), 128))
	case fiber.StatusMethodNotAllowed:
		return fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "%s is not supported here.", clip(c.Method(), 32))
	case fiber.StatusRequestEntityTooLarge:
		return tooLarge()
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return fault.New(fault.KindHeadersTooLarge, fault.CodePayloadTooLarge, "The request headers are larger than %d bytes.", maxHeaders)
	case fiber.StatusUnsupportedMediaType:
		return fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "%s", own.Message)
	}
	if own.Code >= 400 && own.Code < 500 {
		return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "We couldn't read that request.")
	}
	return fault.From(err)
}

func tooLarge() *fault.Fault {
	return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The request body is larger than %d bytes.", MaxBody)
}

func wantsHTML(c *fiber.Ctx) bool {
	return c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) == fiber.MIMETextHTML
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
