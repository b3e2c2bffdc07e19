package mcp

import (
	"errors"
	"math"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
)

// JSON-RPC error codes. -32002 and -32003 are defined by the specification.
// MCP 2026-07-28 forbids the first and reserves the second, so its clients
// receive -32602 with the same data.code.
const (
	codeParseError         = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeToolNotFound       = -32002
	codeToolDisabled       = -32003
	codeResourceNotFound   = -32002 // MCP up to 2025-11-25
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// newErrorResponse converts an error to a JSON-RPC error response. It is the only
// mapping from faults to JSON-RPC error codes.
func newErrorResponse(err error, client *gateway.Client, id []byte) *errorResponse {
	a := &errorResponse{status: fiber.StatusOK, id: id}
	var upstream *gateway.RPCError
	if errors.As(err, &upstream) {
		a.raw = upstream.Raw
		if client.Stateless() {
			a.status = statelessStatus(upstream.Number())
		}
		return a
	}
	f := fault.From(err)
	a.message, a.data = f.Message, errorData{Code: f.Code, Restart: f.Restart, Span: f.Span, Path: f.Path, URI: f.Fields["uri"], URL: f.Fields["url"]}
	if f.Code == fault.CodeRateLimited {
		a.data.RetryAfter = int(math.Ceil(f.RetryAfter.Seconds()))
	}
	if len(f.Candidates) > 0 {
		a.data.Fields = &dataFields{Candidates: f.Candidates}
	}
	switch {
	case (f.Code == fault.CodeToolNotFound || f.Code == fault.CodeToolAmbiguous) && !client.Stateless():
		a.number = codeToolNotFound
	case f.Code == fault.CodeResourceNotFound && !client.Stateless():
		a.number = codeResourceNotFound
	case f.Kind == fault.KindDisabled && !client.Stateless():
		a.number = codeToolDisabled
	case f.Kind == fault.KindUnknownMethod:
		a.number = codeMethodNotFound
		if client.Stateless() {
			a.status = fiber.StatusNotFound
		}
	case f.Kind == fault.KindInvalid, f.Kind == fault.KindNotFound, f.Kind == fault.KindDisabled, f.Kind == fault.KindConflict, f.Kind == fault.KindValidation:
		a.number = codeInvalidParams
	default:
		a.number = codeInternal
	}
	return a
}

// statelessStatus returns the HTTP status that MCP 2026-07-28 requires for an
// error code of an upstream server.
func statelessStatus(number int) int {
	switch {
	case number == codeMethodNotFound:
		return fiber.StatusNotFound
	case codeUnsupportedVersion <= number && number <= codeHeaderMismatch:
		return fiber.StatusBadRequest
	default:
		return fiber.StatusOK
	}
}
