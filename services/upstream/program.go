package upstream

import (
	"mcpgateway/services/fault"
	"mcpgateway/services/redact"
)

// Ended is the error of a request to a program that ended before its response. The
// program may have processed the request.
type Ended struct {
	Text string // why, for people
}

// Error returns the reason.
func (e *Ended) Error() string { return e.Text }

// Stopped returns the fault for a program that can't respond, with the text of
// its state but nothing in it that looks like a secret.
func Stopped(alias, text string) *fault.Fault {
	f := fault.Upstream(fault.CodeUpstreamUnavailable, "Upstream %q can't respond: %s", alias, redact.Text(text))
	f.Reason = string(ReasonProgram)
	return f
}
