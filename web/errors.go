package web

import (
	"errors"
	"strconv"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// statusOf is the one place where kinds of failure become HTTP statuses.
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

// StatusOf returns the HTTP status of a failure, for handlers that answer it
// with a page of their own.
func StatusOf(err error) int { return statusOf(fault.From(err).Kind) }

// errorBody is the JSON form of a failure outside JSON-RPC (contract, "Errors").
type errorBody struct {
	Code      fault.Code        `json:"code"`
	Message   string            `json:"message"`
	Restart   bool              `json:"restart"`
	Span      *fault.Span       `json:"span,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
	RequestID string            `json:"requestId,omitempty"`
	Help      string            `json:"help,omitempty"`
}

// ErrorPage renders the page that a browser sees for a failed request.
type ErrorPage func(c *fiber.Ctx, status int, message, requestID string) templ.Component

// errorPageKey is under what a request keeps that AllowErrorPage was called.
type errorPageKey struct{}

// AllowErrorPage lets browsers get the error page for a failure of the request,
// whatever its method. Without it they get one for GET alone.
func AllowErrorPage(c *fiber.Ctx) { c.Locals(errorPageKey{}, true) }

// errorHandler answers every error that a handler returns: as JSON, or as a
// page when the client asked for HTML. Texts of plain errors stay in the log.
func errorHandler(page ErrorPage, help Help) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		f := faultOf(c, err)
		event := EventOf(c)
		event.Fault(f)
		if f.RetryAfter > 0 {
			c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int(f.RetryAfter.Seconds()+0.999)))
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
			// Refused callers get the same bytes whatever was wrong; the
			// request id is in the header.
			body.RequestID = ""
		}
		return c.JSON(body)
	}
}

// faultOf turns Fiber's own errors into faults and leaves faults as they are.
func faultOf(c *fiber.Ctx, err error) *fault.Fault {
	var own *fiber.Error
	if !errors.As(err, &own) {
		return fault.From(err)
	}
	switch own.Code {
	case fiber.StatusNotFound:
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "there is nothing at %s %s", c.Method(), clip(c.Path(), 128))
	case fiber.StatusMethodNotAllowed:
		return fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "%s is not possible here", clip(c.Method(), 32))
	case fiber.StatusRequestEntityTooLarge:
		return tooLarge()
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return fault.New(fault.KindHeadersTooLarge, fault.CodePayloadTooLarge, "the headers of the request are larger than %d bytes", maxHeaders)
	case fiber.StatusUnsupportedMediaType:
		return fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "%s", own.Message)
	}
	if own.Code >= 400 && own.Code < 500 {
		return fault.New(fault.KindInvalid, fault.CodeInvalidParameter, "the request cannot be read")
	}
	return fault.From(err)
}

func tooLarge() *fault.Fault {
	return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "the request body is larger than %d bytes", MaxBody)
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
