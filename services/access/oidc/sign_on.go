package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SignOnLifetime is the maximum duration of a sign-in at the identity
// provider.
const SignOnLifetime = 10 * time.Minute

// maxFlowCookie is the maximum length of a sign-in cookie value in characters.
// Browsers drop cookies whose name and value are longer than 4096 bytes (RFC
// 6265, section 6.1).
const maxFlowCookie = 3800

// flowSecret is the number of random bytes of a sign-in.
const flowSecret = 32

// flowPurpose is the sealing purpose of sign-in cookies.
const flowPurpose = "single sign-on"

// Challenge binds a provider's response to the request.
type Challenge struct {
	State    string
	Nonce    string
	Verifier string // of PKCE (RFC 7636); the provider receives its S256 challenge
	Fresh    bool   // requires a new authentication, even with a session at the provider
	Groups   bool   // requests the groups of the user
}

// Sealer seals the cookies of sign-ins.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Groups are the groups of users. Implemented by groups.Store.
type Groups interface {
	// UsesClaims reports whether a group has a claim.
	UsesClaims(ctx context.Context) (bool, error)
}

// SignOnOptions configure the sign-in with an identity provider.
type SignOnOptions struct {
	DB       *gorm.DB
	Users    *access.Identities
	Provider *Provider
	Sealer   Sealer
	Groups   Groups
	Now      func() time.Time
}

// SignOn signs users in with an identity provider (OpenID Connect Core 1.0,
// authorization code flow with PKCE).
type SignOn struct{ SignOnOptions }

// NewSignOn returns the sign-in with a provider.
func NewSignOn(o SignOnOptions) *SignOn { return &SignOn{o} }

// Response holds the query parameters of the provider's redirect to the
// callback.
type Response struct {
	State  string
	Code   string
	Issuer string // iss (RFC 9207), or empty
	Error  string // error, or empty
}

// flow is the content of the sign-in cookie between Start and Finish. State,
// nonce and verifier are derived from the secret, so that nothing is stored
// before the provider responds.
type flow struct {
	Secret  []byte    `json:"secret"`
	Next    string    `json:"next"`
	Fresh   bool      `json:"fresh,omitempty"`
	Started time.Time `json:"started"`
}

func (f flow) challenge() Challenge {
	part := func(purpose string) string {
		mac := hmac.New(sha256.New, f.Secret)
		mac.Write([]byte(purpose))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	return Challenge{State: part("state"), Nonce: part("nonce"), Verifier: part("verifier"), Fresh: f.Fresh}
}

// Start starts a sign-in that ends at the local path next. It returns the URL
// to redirect the browser to and the value of the cookie that binds the sign-in
// to the browser. fresh requires a new authentication at the provider. A next
// that is too long for a cookie is dropped, and Finish returns an empty path.
// Start returns UNAVAILABLE if the provider can't be reached.
func (s *SignOn) Start(ctx context.Context, next string, fresh bool) (address string, cookie secrets.Value, err error) {
	f := flow{Secret: make([]byte, flowSecret), Next: next, Fresh: fresh, Started: s.Now()}
	rand.Read(f.Secret) // never fails
	sealed, err := s.seal(f)
	if err == nil && len(sealed) > maxFlowCookie {
		f.Next = ""
		sealed, err = s.seal(f)
	}
	if err != nil {
		return "", secrets.Value{}, err
	}
	address, err = s.Provider.AuthorizeURL(ctx, f.challenge())
	if err != nil {
		return "", secrets.Value{}, fault.From(err)
	}
	return address, secrets.NewValue(sealed), nil
}

func (s *SignOn) seal(f flow) (string, error) {
	plain, err := json.Marshal(f)
	if err != nil {
		return "", fault.Internal(err)
	}
	return s.Sealer.SealToken(flowPurpose, plain), nil
}

// Finish completes the sign-in of a cookie from Start. It starts a session,
// ends the browser's previous one, and returns the path to redirect to. It
// marks the sign-in as consumed: it completes once, in the same browser, within
// SignOnLifetime, and otherwise returns INVALID_PARAMETER. It returns
// UNAUTHORIZED if the provider doesn't verify an identity, FORBIDDEN for a user
// who isn't invited or is disabled, RATE_LIMITED and UNAVAILABLE.
func (s *SignOn) Finish(ctx context.Context, cookie string, answer Response, from access.Browser) (access.SignedIn, string, error) {
	f, err := s.open(cookie)
	if err != nil {
		return access.SignedIn{}, "", err
	}
	q := f.challenge()
	if subtle.ConstantTimeCompare([]byte(answer.State), []byte(q.State)) != 1 {
		return access.SignedIn{}, "", invalidFlow()
	}
	if err := s.Users.Count(ctx, from); err != nil {
		return access.SignedIn{}, "", err
	}
	if err := s.spend(ctx, q.State, f.Started.Add(SignOnLifetime)); err != nil {
		return access.SignedIn{}, "", err
	}
	if q.Groups, err = s.Groups.UsesClaims(ctx); err != nil {
		return access.SignedIn{}, "", err
	}
	identity, err := s.identify(ctx, answer, q)
	if err != nil {
		return access.SignedIn{}, "", errors.Join(err, s.Users.Refused(ctx, "identity not verified", from))
	}
	now := s.Now()
	if f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(f.Started.Add(-time.Minute)) {
		return access.SignedIn{}, "", errors.Join(invalidFlow(), s.Users.Refused(ctx, "authentication too old", from))
	}
	proved := now
	if !f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(now) {
		proved = identity.AuthenticatedAt.UTC().Truncate(time.Millisecond)
	}
	in, err := s.Users.SignIn(ctx, identity, proved, from)
	return in, f.Next, err
}

func (s *SignOn) open(cookie string) (flow, error) {
	var f flow
	plain, err := s.Sealer.OpenToken(flowPurpose, cookie)
	if err != nil {
		return f, invalidFlow()
	}
	if err := json.Unmarshal(plain, &f); err != nil {
		return f, fault.Internal(err)
	}
	if age := s.Now().Sub(f.Started); age < -time.Minute || age >= SignOnLifetime {
		return f, invalidFlow()
	}
	return f, nil
}

// spend marks a sign-in as consumed for all replicas. A second call returns
// INVALID_PARAMETER.
func (s *SignOn) spend(ctx context.Context, state string, until time.Time) error {
	sum := sha256.Sum256([]byte(state))
	result := s.DB.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&models.SpentSignIn{Hash: sum[:], ExpiresAt: until})
	if result.Error != nil {
		return fault.Internal(result.Error)
	}
	if result.RowsAffected == 0 {
		return invalidFlow()
	}
	return nil
}

func (s *SignOn) identify(ctx context.Context, answer Response, q Challenge) (access.Identity, error) {
	if answer.Error != "" || answer.Code == "" {
		return access.Identity{}, fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "The identity provider didn't sign you in. Try again.")
	}
	identity, err := s.Provider.Identify(ctx, answer.Code, answer.Issuer, q)
	if err == nil && (identity.Issuer == "" || identity.Subject == "") {
		err = fault.Unauthorized()
	}
	return identity, err
}

func invalidFlow() error {
	return fault.Invalid("This sign-in was started in another browser, has expired or was already completed. Start it again.")
}
