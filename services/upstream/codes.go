package upstream

// JSON-RPC error codes of upstreams that the gateway handles. All others are
// forwarded unchanged.
const (
	// Upstreams with a handshake reject requests without a valid session with
	// these.
	codeServerError    = -32000
	codeUnknownSession = -32001
	codeInvalidRequest = -32600

	// CodeMethodNotFound is "method not found" of JSON-RPC 2.0.
	CodeMethodNotFound = -32601
	// CodeInvalidParams is "invalid params" of JSON-RPC 2.0. Every MCP revision
	// also uses it for unknown tools.
	CodeInvalidParams = -32602
	// CodeInternalError is "internal error" of JSON-RPC 2.0.
	CodeInternalError = -32603
	// CodeResourceNotFound is "resource not found" of MCP 2024-11-05 to
	// 2025-11-25.
	CodeResourceNotFound = -32002
	// CodeHeaderMismatch means that headers and body differ (MCP 2026-07-28).
	CodeHeaderMismatch = -32020
	// CodeMissingClientCapability means that the client did not declare a
	// required capability (MCP 2026-07-28).
	CodeMissingClientCapability = -32021
	// CodeUnsupportedProtocolVersion means that the server does not support the
	// protocol version (MCP 2026-07-28).
	CodeUnsupportedProtocolVersion = -32022
	// CodeURLElicitationRequired means that the user must visit a URL first
	// (MCP 2025-11-25).
	CodeURLElicitationRequired = -32042
)

// IsSessionCode reports whether upstreams with a handshake use the code for an
// unknown session. No revision specifies one.
func IsSessionCode(code int64) bool {
	return code == codeServerError || code == codeUnknownSession || code == codeInvalidRequest
}

// IsRevisionCode reports whether an upstream of revision 2026-07-28 rejects a
// request with this code and HTTP 400 because of its headers, which it checks
// first. A missing capability may be detected only during processing.
func IsRevisionCode(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeUnsupportedProtocolVersion
}

// IsModernCode reports whether only upstreams of revision 2026-07-28 or later
// use the code.
func IsModernCode(code int64) bool {
	return code == CodeHeaderMismatch || code == CodeMissingClientCapability || code == CodeUnsupportedProtocolVersion
}
