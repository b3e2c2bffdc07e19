package web

import "mcpgateway/services/fault"

// Help returns the URL of the documentation of an error code, or "".
type Help func(fault.Code) string

// ErrorContext is what the errors of a request refer to.
type ErrorContext struct {
	RequestID string
	help      Help
}

// Help returns the URL of the documentation of an error code, or "" if there
// is none.
func (x ErrorContext) Help(code fault.Code) string {
	if x.help == nil || code == "" {
		return ""
	}
	return x.help(code)
}

// Errors returns what the errors of the request refer to.
func (e *Event) Errors() ErrorContext { return ErrorContext{e.RequestID, e.help} }
