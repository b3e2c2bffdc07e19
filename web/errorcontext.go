package web

import "mcpgateway/services/fault"

// Help returns the URL of the documentation of an error code, or "".
type Help func(fault.Code) string

// ErrorContext identifies a request and the documentation in its errors.
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

// Errors returns the context of the errors of the request.
func (e *Event) Errors() ErrorContext { return ErrorContext{e.RequestID, e.help} }
