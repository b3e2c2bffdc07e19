package oauthserver

// RefusalCode is an error code of OAuth.
type RefusalCode string

// The error codes that clients get (RFC 6749, sections 4.1.2.1 and 5.2; RFC
// 7591, section 3.2.2; RFC 8707, section 2).
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

// Refusal is the answer to a client whose request cannot be granted. It is an
// error of its own besides the faults, because OAuth says how it reads.
type Refusal struct {
	Code        RefusalCode
	Description string // for the client's developer; never a secret
}

// Error returns the code and the description.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Description }

func refuse(code RefusalCode, description string) *Refusal {
	return &Refusal{Code: code, Description: description}
}

// Denial is a refused authorization request whose answer goes to the client:
// the browser is sent to URL (RFC 6749, section 4.1.2.1).
type Denial struct {
	URL     string
	Refusal *Refusal
}

// Error returns what was refused.
func (d *Denial) Error() string { return d.Refusal.Error() }

// Unwrap returns the refusal.
func (d *Denial) Unwrap() error { return d.Refusal }
