// Package fault is the one vocabulary of failure. Services return faults,
// and each edge of the product (HTTP, JSON-RPC, command line) maps them once.
// It knows nothing of HTTP or JSON-RPC.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of failure a fault is; the edges derive their status
// codes from it. The zero Kind is Internal, so a forgotten one fails closed.
type Kind uint8

// The kinds of failure that an edge tells apart.
const (
	KindInternal Kind = iota
	KindInvalid
	KindUnauthorized
	KindForbidden
	KindNotFound
	KindDisabled
	KindUnknownMethod
	KindMethodNotAllowed
	KindNotAcceptable
	KindConflict
	KindValidation
	KindTooLarge
	KindHeadersTooLarge
	KindUnsupportedMedia
	KindRateLimited
	KindUnavailable
	KindStorageFull
	KindUpstream
	KindCancelled
	KindLoop
)

// Code is the machine-readable name of a failure, literal in every answer.
type Code string

// Codes are the product's published error codes.
const (
	CodeInvalidParameter        Code = "INVALID_PARAMETER"
	CodeConflictingParameters   Code = "CONFLICTING_PARAMETERS"
	CodeInvalidCursor           Code = "INVALID_CURSOR"
	CodeCursorStale             Code = "CURSOR_STALE"
	CodeUnknownQualifier        Code = "UNKNOWN_QUALIFIER"
	CodeUnsupportedQualifier    Code = "UNSUPPORTED_QUALIFIER"
	CodeEmptyValue              Code = "EMPTY_VALUE"
	CodeInvalidValue            Code = "INVALID_VALUE"
	CodeUnterminatedQuote       Code = "UNTERMINATED_QUOTE"
	CodeInvalidEscape           Code = "INVALID_ESCAPE"
	CodeUnexpectedCharacter     Code = "UNEXPECTED_CHARACTER"
	CodeDanglingNegation        Code = "DANGLING_NEGATION"
	CodeQueryTooLong            Code = "QUERY_TOO_LONG"
	CodeTooManyClauses          Code = "TOO_MANY_CLAUSES"
	CodeInvalidUTF8             Code = "INVALID_UTF8"
	CodeToolNotFound            Code = "TOOL_NOT_FOUND"
	CodeToolDisabled            Code = "TOOL_DISABLED"
	CodeResourceNotFound        Code = "RESOURCE_NOT_FOUND"
	CodeUpstreamUnavailable     Code = "UPSTREAM_UNAVAILABLE"
	CodeUpstreamTimeout         Code = "UPSTREAM_TIMEOUT"
	CodeUpstreamUnauthorized    Code = "UPSTREAM_UNAUTHORIZED"
	CodeUpstreamInvalidResponse Code = "UPSTREAM_INVALID_RESPONSE"
	CodeUpstreamError           Code = "UPSTREAM_ERROR" // in logs; clients get the upstream's own error
	CodeCodeModeDisabled        Code = "CODE_MODE_DISABLED"
	CodeUnauthorized            Code = "UNAUTHORIZED"
	CodeForbidden               Code = "FORBIDDEN"
	CodeStepUpRequired          Code = "STEP_UP_REQUIRED"
	CodeNotFound                Code = "NOT_FOUND"
	CodeMethodNotAllowed        Code = "METHOD_NOT_ALLOWED"
	CodeNotAcceptable           Code = "NOT_ACCEPTABLE"
	CodeConflict                Code = "CONFLICT"
	CodeValidationFailed        Code = "VALIDATION_FAILED"
	CodePayloadTooLarge         Code = "PAYLOAD_TOO_LARGE"
	CodeResultTooLarge          Code = "RESULT_TOO_LARGE"
	CodeUnsupportedMediaType    Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRateLimited             Code = "RATE_LIMITED"
	CodeUnavailable             Code = "UNAVAILABLE"
	CodeStorageFull             Code = "STORAGE_FULL"
	CodeCancelled               Code = "CANCELLED"
	CodeLoopDetected            Code = "LOOP_DETECTED"
	CodeInternal                Code = "INTERNAL"
)

// Span is a half-open range of Unicode code-point offsets in a query.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Fault is one failure: its kind and code for machines, its message for the
// person who can act on it. Detail is for administrators and the log, and never
// for clients of a project: it may name hosts. Cause is for the log only.
type Fault struct {
	Kind       Kind
	Code       Code
	Message    string
	Detail     string
	Span       *Span
	Restart    bool
	Fields     map[string]string
	RetryAfter time.Duration
	Cause      error
}

// Error returns the message followed by the detail and the cause, for logs and
// commands.
func (f *Fault) Error() string {
	if f.Cause != nil {
		return f.AdminMessage() + ": " + f.Cause.Error()
	}
	return f.AdminMessage()
}

// AdminMessage returns the message followed by the detail, for administrators.
func (f *Fault) AdminMessage() string {
	if f.Detail == "" {
		return f.Message
	}
	return f.Message + " (" + f.Detail + ")"
}

// Unwrap returns the cause, or nil.
func (f *Fault) Unwrap() error { return f.Cause }

// Because returns a copy of the fault that carries cause for the log.
func (f *Fault) Because(cause error) *Fault {
	g := *f
	g.Cause = cause
	return &g
}

// From returns err as a fault. An error that holds no fault becomes Unavailable
// when it reports a database that is, and otherwise Internal with a neutral
// message; its own text stays in Cause.
func From(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	if f := ofDatabase(err); f != nil {
		return f
	}
	return &Fault{Kind: KindInternal, Code: CodeInternal, Message: "something went wrong on our side", Cause: err}
}

// Is reports whether err holds a fault of the given code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}

// New returns a fault whose message is formatted like fmt.Sprintf.
func New(kind Kind, code Code, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns the fault for a thing that does not exist, such as a
// project called name.
func NotFound(thing, name string) *Fault {
	return New(KindNotFound, CodeNotFound, "there is no %s %q", thing, name)
}

// Conflict returns the fault for a change that clashes with what is stored.
func Conflict(format string, args ...any) *Fault {
	return New(KindConflict, CodeConflict, format, args...)
}

// Invalid returns the fault for an argument that cannot be used.
func Invalid(format string, args ...any) *Fault {
	return New(KindInvalid, CodeInvalidParameter, format, args...)
}

// Validation returns the fault for a record with unusable fields; fields maps
// the path of each to what is wrong with it.
func Validation(fields map[string]string) *Fault {
	f := New(KindValidation, CodeValidationFailed, "some fields cannot be used")
	if len(fields) == 1 {
		for path, why := range fields {
			f.Message = path + ": " + why
		}
	}
	f.Fields = fields
	return f
}

// Unauthorized returns the fault for a caller who did not prove who it is.
// The message is the same for every reason, so that it tells an attacker nothing.
func Unauthorized() *Fault {
	return New(KindUnauthorized, CodeUnauthorized, "valid credentials are required")
}

// Forbidden returns the fault for a known caller who may not do this.
func Forbidden(format string, args ...any) *Fault {
	return New(KindForbidden, CodeForbidden, format, args...)
}

// Upstream returns the fault for an upstream server that failed; code is one
// of the UPSTREAM_ codes.
func Upstream(code Code, format string, args ...any) *Fault {
	return New(KindUpstream, code, format, args...)
}

// ResultTooLarge returns RESULT_TOO_LARGE, for a result of a batch for which the
// other results leave no room.
func ResultTooLarge() *Fault {
	return New(KindTooLarge, CodeResultTooLarge, "The results of this batch are too large together. Send this request by itself.")
}

// Cancelled returns the fault for a request that ended because whoever made it
// said so or went away; cause is what ended with it.
func Cancelled(cause error) *Fault {
	return New(KindCancelled, CodeCancelled, "the request was cancelled").Because(cause)
}

// Internal returns the fault for a failure of our own; cause is logged and
// never answered.
func Internal(cause error) *Fault { return From(cause) }
