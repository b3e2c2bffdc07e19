package upstream

import (
	"strings"

	"mcpgateway/services/fault"
)

// Reason is the cause of an upstream failure, for pages and the history of a
// server. It is stored. Some reasons have a parameter after a colon.
type Reason string

// The reasons of failures.
const (
	ReasonRefused      Reason = "refused"       // connection refused
	ReasonHost         Reason = "host"          // unknown host name
	ReasonTimeout      Reason = "timeout"       // no response; the parameter is the duration
	ReasonNoConnection Reason = "no-connection" // no connection in time
	ReasonCertificate  Reason = "certificate"   // the parameter is the error of the verification
	ReasonBlocked      Reason = "blocked"       // the address is not allowed
	ReasonClosed       Reason = "closed"        // connection lost; the parameter is the error
	ReasonCredentials  Reason = "credentials"   // HTTP 401
	ReasonSignIn       Reason = "sign-in"       // HTTP 401 with a reference to OAuth metadata
	ReasonForbidden    Reason = "forbidden"     // HTTP 403
	ReasonNoEndpoint   Reason = "no-endpoint"   // HTTP 404, 405 or 410
	ReasonRedirect     Reason = "redirect"      // HTTP 3xx
	ReasonHTTP         Reason = "http"          // another status; the parameter is the number
	ReasonNotMCP       Reason = "not-mcp"       // the response is not MCP
	ReasonNoToken      Reason = "no-token"      // the configured credential has no value
	ReasonNotConnected Reason = "not-connected" // OAuth was never completed
	ReasonRevoked      Reason = "revoked"       // OAuth access ended
	ReasonProgram      Reason = "program"       // the state of a program that a runner starts
	ReasonOther        Reason = "other"
)

// WithParameter returns the reason with a parameter of limited length.
func (r Reason) WithParameter(parameter string) Reason {
	const most = 200
	if len(parameter) > most {
		parameter = strings.ToValidUTF8(parameter[:most], "") + "…"
	}
	return r + ":" + Reason(parameter)
}

// Split returns the reason without its parameter, and the parameter.
func (r Reason) Split() (kind Reason, parameter string) {
	before, after, _ := strings.Cut(string(r), ":")
	return Reason(before), after
}

// ReasonOf returns the reason of an error. Faults of upstreams without a reason
// get one from their code. It is empty for nil and for other errors.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	f := fault.From(err)
	if f.Reason != "" {
		return Reason(f.Reason)
	}
	return ReasonOfCode(string(f.Code))
}

// ReasonOfCode returns the reason for a stored error code, for failures without a
// stored reason. It is empty for codes of other failures.
func ReasonOfCode(code string) Reason {
	switch fault.Code(code) {
	case fault.CodeUpstreamTimeout:
		return ReasonTimeout
	case fault.CodeUpstreamUnauthorized:
		return ReasonCredentials
	case fault.CodeUpstreamInvalidResponse:
		return ReasonNotMCP
	case fault.CodeUpstreamUnavailable, fault.CodeUpstreamError:
		return ReasonOther
	}
	return ""
}
