package oauthserver

// RefusalCode is an OAuth error code.
type RefusalCode string

// The error codes in responses to clients (RFC 6749, sections 4.1.2.1 and 5.2;
// RFC 7591, section 3.2.2; RFC 8707, section 2).
const (
	InvalidRequest          RefusalCode = "invalid_request"
	InvalidClient           RefusalCode = "invalid_client"
	InvalidGrant            RefusalCode = "invalid_grant"
	UnsupportedGrantType    RefusalCode = "unsupported_grant_type"
	UnsupportedResponseType RefusalCode = "unsupported_response_type"
	InvalidScope            RefusalCode = "invalid_scope"
	InvalidTarget           RefusalCode = "invalid_target"
	AccessDenied            RefusalCode = "access_denied"
	SlowDown                RefusalCode = "slow_down"
	RequestNotSupported     RefusalCode = "request_not_supported"
	RequestURINotSupported  RefusalCode = "request_uri_not_supported"
	InvalidRedirectURI      RefusalCode = "invalid_redirect_uri"
	InvalidClientMetadata   RefusalCode = "invalid_client_metadata"
)

// Refusal is the error response to a client's request. It is not a fault,
// because OAuth defines its format.
type Refusal struct {
	Code        RefusalCode
	Description string // for the client's developer; never a secret
}

// Error returns the code and the description.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Description }

func refuse(code RefusalCode, description string) *Refusal {
	return &Refusal{Code: code, Description: description}
}

// Denial is an authorization error that is returned to the client by
// redirecting the browser to URL (RFC 6749, section 4.1.2.1).
type Denial struct {
	URL     string
	Refusal *Refusal
}

// Error returns the text of the refusal.
func (d *Denial) Error() string { return d.Refusal.Error() }

// Unwrap returns the refusal.
func (d *Denial) Unwrap() error { return d.Refusal }
