// Package fault defines the failures of the product. Services return faults;
// each edge (HTTP, JSON-RPC, command line) maps them once. The package is
// independent of HTTP and JSON-RPC.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the category of a fault. Edges derive their status codes from it. The
// zero Kind is KindInternal, so a missing kind fails closed.
type Kind uint8

// The kinds of faults.
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

// Code is the machine-readable error code in responses.
type Code string

// The published error codes.
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
	CodeToolAmbiguous           Code = "TOOL_AMBIGUOUS"
	CodeResourceNotFound        Code = "RESOURCE_NOT_FOUND"
	CodeUpstreamUnavailable     Code = "UPSTREAM_UNAVAILABLE"
	CodeUpstreamTimeout         Code = "UPSTREAM_TIMEOUT"
	CodeUpstreamUnauthorized    Code = "UPSTREAM_UNAUTHORIZED"
	CodeConnectionRequired      Code = "CONNECTION_REQUIRED"
	CodePersonRequired          Code = "PERSON_REQUIRED"
	CodeUpstreamInvalidResponse Code = "UPSTREAM_INVALID_RESPONSE"
	CodeUpstreamError           Code = "UPSTREAM_ERROR" // only in logs; clients receive the upstream's error
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

// Fault is a failure. Kind and Code are for programs, Message is for the user
// who can act on it. Detail is for administrators and the log, never for
// clients of a project: it can contain host names. Reason is the cause of an
// upstream failure, such as "refused" or "http:502"; see upstream.Reason. Candidates
// are the full names that an ambiguous name can stand for. Cause is only for the log.
type Fault struct {
	Kind       Kind
	Code       Code
	Message    string
	Detail     string
	Reason     string
	Span       *Span
	Restart    bool
	Fields     map[string]string
	Candidates []string
	Path       string // JSON pointer (RFC 6901) of an invalid argument, or empty
	RetryAfter time.Duration
	Cause      error
}

// Error returns the message, detail and cause, for logs and commands.
func (f *Fault) Error() string {
	if f.Cause != nil {
		return f.AdminMessage() + ": " + f.Cause.Error()
	}
	return f.AdminMessage()
}

// AdminMessage returns the message and detail, for administrators.
func (f *Fault) AdminMessage() string {
	if f.Detail == "" {
		return f.Message
	}
	return f.Message + " (" + f.Detail + ")"
}

// Unwrap returns the cause, or nil.
func (f *Fault) Unwrap() error { return f.Cause }

// Because returns a copy of the fault with a cause for the log.
func (f *Fault) Because(cause error) *Fault {
	g := *f
	g.Cause = cause
	return &g
}

// From returns err as a fault. An error without a fault becomes Unavailable if
// the database is unreachable, StorageFull if its disk is full, and otherwise
// Internal with a neutral message. The error itself becomes the Cause.
func From(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	if f := ofDatabase(err); f != nil {
		return f
	}
	return &Fault{Kind: KindInternal, Code: CodeInternal, Message: "Internal error. Retry later.", Cause: err}
}

// Is reports whether err contains a fault with the given code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}

// New returns a fault with a message formatted as by fmt.Sprintf.
func New(kind Kind, code Code, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// maxName is the maximum number of characters of a name in the message of
// NotFound. Names come from outside.
const maxName = 256

// NotFound returns the fault for a thing that doesn't exist, such as a project
// called name. The message has the beginning of a long name.
func NotFound(thing, name string) *Fault {
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName]) + "…"
	}
	return New(KindNotFound, CodeNotFound, "There is no %s %q.", thing, name)
}

// Conflict returns the fault for a change that conflicts with the stored state.
func Conflict(format string, args ...any) *Fault {
	return New(KindConflict, CodeConflict, format, args...)
}

// Invalid returns the fault for an invalid argument.
func Invalid(format string, args ...any) *Fault {
	return New(KindInvalid, CodeInvalidParameter, format, args...)
}

// Validation returns the fault for a record with invalid fields. fields maps
// the path of each to its problem.
func Validation(fields map[string]string) *Fault {
	f := New(KindValidation, CodeValidationFailed, "Some fields are invalid.")
	if len(fields) == 1 {
		for path, why := range fields {
			f.Message = path + ": " + why
		}
	}
	f.Fields = fields
	return f
}

// Unauthorized returns the fault for a caller without valid credentials. The
// message is the same for every reason, so that attackers learn nothing.
func Unauthorized() *Fault {
	return New(KindUnauthorized, CodeUnauthorized, "Valid credentials are required.")
}

// Forbidden returns the fault for an authenticated caller without permission.
func Forbidden(format string, args ...any) *Fault {
	return New(KindForbidden, CodeForbidden, format, args...)
}

// Upstream returns the fault for a failed upstream server. code is one of the
// UPSTREAM_ codes.
func Upstream(code Code, format string, args ...any) *Fault {
	return New(KindUpstream, code, format, args...)
}

// ResultTooLarge returns RESULT_TOO_LARGE for a result that exceeds the memory
// left in its batch.
func ResultTooLarge() *Fault {
	return New(KindTooLarge, CodeResultTooLarge, "The results of this batch are too large together. Send this request separately.")
}

// Cancelled returns the fault for a request that its client cancelled or
// abandoned.
func Cancelled(cause error) *Fault {
	return New(KindCancelled, CodeCancelled, "The request was cancelled.").Because(cause)
}

// Internal returns the fault for an internal error. The cause is logged and
// never returned to clients.
func Internal(cause error) *Fault { return From(cause) }
