package upstream

// JSON-RPC error numbers that upstreams send and the gateway understands. All
// others are passed on as they came.
const (
	// Upstreams with a handshake refuse requests outside a session with these.
	codeServerError    = -32000
	codeUnknownSession = -32001
	codeInvalidRequest = -32600

	// CodeMethodNotFound is JSON-RPC 2.0's "method not found".
	CodeMethodNotFound = -32601
	// CodeInvalidParams is JSON-RPC 2.0's "invalid params"; every MCP
	// revision uses it for unknown tools too.
	CodeInvalidParams = -32602
	// CodeInternalError is JSON-RPC 2.0's "internal error".
	CodeInternalError = -32603
	// CodeResourceNotFound is "resource not found" of MCP 2024-11-05 to
	// 2025-11-25.
	CodeResourceNotFound = -32002
	// CodeHeaderMismatch is MCP 2026-07-28's "headers and body disagree".
	CodeHeaderMismatch = -32020
	// CodeMissingClientCapability is MCP 2026-07-28's "the client did not
	// declare a capability that is needed".
	CodeMissingClientCapability = -32021
	// CodeUnsupportedProtocolVersion is MCP 2026-07-28's "this protocol
	// version is not served here".
	CodeUnsupportedProtocolVersion = -32022
	// CodeURLElicitationRequired is MCP 2025-11-25's "the user must visit a
	// URL first".
	CodeURLElicitationRequired = -32042
)

// IsSessionCode reports whether upstreams with a handshake refuse an unknown
// session with this number, for which no revision names one.
func IsSessionCode(code int64) bool {
	return code == codeServerError || code == codeUnknownSession || code == codeInvalidRequest
}

// IsRevisionCode reports whether an upstream of revision 2026-07-28 refuses a
// request with this number and HTTP 400 because of its headers, which it checks
// first. A missing capability may show only while a request is processed.
func IsRevisionCode(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeUnsupportedProtocolVersion
}

// IsModernCode reports whether only an upstream of revision 2026-07-28 or
// later answers with this number.
func IsModernCode(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeMissingClientCapability || code == CodeUnsupportedProtocolVersion
}
