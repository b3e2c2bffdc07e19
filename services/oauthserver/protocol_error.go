package oauthserver

// ErrorCode is an OAuth error code.
type ErrorCode string

// The error codes in responses to clients (RFC 6749, sections 4.1.2.1 and 5.2;
// RFC 7591, section 3.2.2; RFC 8707, section 2).
const (
	InvalidRequest          ErrorCode = "invalid_request"
	InvalidClient           ErrorCode = "invalid_client"
	InvalidGrant            ErrorCode = "invalid_grant"
	UnsupportedGrantType    ErrorCode = "unsupported_grant_type"
	UnsupportedResponseType ErrorCode = "unsupported_response_type"
	InvalidScope            ErrorCode = "invalid_scope"
	InvalidTarget           ErrorCode = "invalid_target"
	AccessDenied            ErrorCode = "access_denied"
	SlowDown                ErrorCode = "slow_down"
	RequestNotSupported     ErrorCode = "request_not_supported"
	RequestURINotSupported  ErrorCode = "request_uri_not_supported"
	InvalidRedirectURI      ErrorCode = "invalid_redirect_uri"
	InvalidClientMetadata   ErrorCode = "invalid_client_metadata"
)

// ProtocolError is the error response to a client's request. It is not a fault,
// because OAuth defines its format.
type ProtocolError struct {
	Code        ErrorCode
	Description string // for the client's developer; never a secret
}

// Error returns the code and the description.
func (r *ProtocolError) Error() string { return string(r.Code) + ": " + r.Description }

func refuse(code ErrorCode, description string) *ProtocolError {
	return &ProtocolError{Code: code, Description: description}
}

// AuthorizeError is an authorization error that is returned to the client by
// redirecting the browser to URL (RFC 6749, section 4.1.2.1).
type AuthorizeError struct {
	URL     string
	Refusal *ProtocolError
}

// Error returns the text of the refusal.
func (d *AuthorizeError) Error() string { return d.Refusal.Error() }

// Unwrap returns the refusal.
func (d *AuthorizeError) Unwrap() error { return d.Refusal }
