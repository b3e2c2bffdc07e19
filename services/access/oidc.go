package access

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
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SingleSignOnLifetime is the maximum duration of a sign-in at the identity
// provider.
const SingleSignOnLifetime = 10 * time.Minute

// maxFlowCookie is the maximum length of a sign-in cookie value in characters.
// Browsers drop cookies whose name and value are longer than 4096 bytes (RFC
// 6265, section 6.1).
const maxFlowCookie = 3800

// flowPurpose is the sealing purpose of sign-in cookies.
const flowPurpose = "single sign-on"

// Identity is a user authenticated by the identity provider. Issuer and Subject
// identify the user permanently; an email address can be reassigned.
type Identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	AuthenticatedAt time.Time     // zero if the provider doesn't report it
	Groups          groups.Report // empty unless the challenge requested it
}

// Challenge binds a provider's response to the request.
type Challenge struct {
	State    string
	Nonce    string
	Verifier string // of PKCE (RFC 7636); the provider receives its S256 challenge
	Fresh    bool   // requires a new authentication, even with a session at the provider
	Groups   bool   // requests the groups of the user
}

// IdentityProvider is an OpenID Connect provider. Implemented by oidc.Provider.
type IdentityProvider interface {
	// AuthorizeURL returns the URL to redirect the browser to, or UNAVAILABLE.
	AuthorizeURL(ctx context.Context, q Challenge) (string, error)
	// Identify redeems the code of a response and returns the identity from its
	// verified ID token. issuer is the response's iss parameter, or empty. It
	// returns UNAUTHORIZED for an invalid response or token, and UNAVAILABLE.
	Identify(ctx context.Context, code, issuer string, q Challenge) (Identity, error)
}

// TokenSealer seals data that browsers store.
type TokenSealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// SingleSignOnOptions configure the sign-in with an identity provider.
type SingleSignOnOptions struct {
	People      *Users
	Provider    IdentityProvider
	Sealer      TokenSealer
	Groups      *groups.Store
	Domains     []string    // lower case; users with a verified email address in them need no invitation
	DefaultRole models.Role // of users who need no invitation because of their email address
}

// SingleSignOn signs users in with an identity provider (OpenID Connect Core
// 1.0, authorization code flow with PKCE).
type SingleSignOn struct {
	people   *Users
	provider IdentityProvider
	sealer   TokenSealer
	groups   *groups.Store
	domains  []string
	role     models.Role
}

// NewSingleSignOn returns the sign-in with a provider.
func NewSingleSignOn(o SingleSignOnOptions) *SingleSignOn {
	return &SingleSignOn{people: o.People, provider: o.Provider, sealer: o.Sealer, groups: o.Groups, domains: o.Domains, role: o.DefaultRole}
}

// SSOResponse holds the query parameters of the provider's redirect to the
// callback.
type SSOResponse struct {
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
func (s *SingleSignOn) Start(ctx context.Context, next string, fresh bool) (address string, cookie secrets.Value, err error) {
	f := flow{Secret: make([]byte, randomSize), Next: next, Fresh: fresh, Started: s.people.now()}
	rand.Read(f.Secret) // never fails
	sealed, err := s.seal(f)
	if err == nil && len(sealed) > maxFlowCookie {
		f.Next = ""
		sealed, err = s.seal(f)
	}
	if err != nil {
		return "", secrets.Value{}, err
	}
	address, err = s.provider.AuthorizeURL(ctx, f.challenge())
	if err != nil {
		return "", secrets.Value{}, fault.From(err)
	}
	return address, secrets.NewValue(sealed), nil
}

func (s *SingleSignOn) seal(f flow) (string, error) {
	plain, err := json.Marshal(f)
	if err != nil {
		return "", fault.Internal(err)
	}
	return s.sealer.SealToken(flowPurpose, plain), nil
}

// Finish completes the sign-in of a cookie from Start. It starts a session,
// ends the browser's previous one, and returns the path to redirect to. It
// marks the sign-in as consumed: it completes once, in the same browser, within
// SingleSignOnLifetime, and otherwise returns INVALID_PARAMETER. It returns
// UNAUTHORIZED if the provider doesn't verify an identity, FORBIDDEN for a user
// who isn't invited or is disabled, RATE_LIMITED and UNAVAILABLE.
func (s *SingleSignOn) Finish(ctx context.Context, cookie string, answer SSOResponse, from Browser) (SignedIn, string, error) {
	ctx = fromClient(ctx, from)
	f, err := s.open(cookie)
	if err != nil {
		return SignedIn{}, "", err
	}
	q := f.challenge()
	if subtle.ConstantTimeCompare([]byte(answer.State), []byte(q.State)) != 1 {
		return SignedIn{}, "", invalidFlow()
	}
	limit := attempts.OfAddress(from.IP)
	if _, err := s.people.attempts.Count(ctx, limit); err != nil {
		return SignedIn{}, "", err
	}
	if err := s.spend(ctx, q.State, f.Started.Add(SingleSignOnLifetime)); err != nil {
		return SignedIn{}, "", err
	}
	if q.Groups, err = s.groups.UsesClaims(ctx); err != nil {
		return SignedIn{}, "", err
	}
	identity, err := s.identify(ctx, answer, q)
	if err != nil {
		return SignedIn{}, "", errors.Join(err, s.refused(ctx, "identity not verified"))
	}
	now := s.people.now()
	if f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(f.Started.Add(-time.Minute)) {
		return SignedIn{}, "", errors.Join(invalidFlow(), s.refused(ctx, "authentication too old"))
	}
	proved := now
	if !f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(now) {
		proved = identity.AuthenticatedAt.UTC().Truncate(time.Millisecond)
	}
	user, err := s.personFor(ctx, identity)
	if err != nil {
		return SignedIn{}, "", errors.Join(err, s.refused(ctx, "not invited"))
	}
	// Before the session starts, so that its first request has the new roles.
	if err := s.groups.Replace(asUser(ctx, &user), user.ID, identity.Groups); err != nil {
		return SignedIn{}, "", err
	}
	in, err := s.people.startSession(ctx, user, from, proved, "single sign-on", func(tx *gorm.DB, row models.User) error {
		if row.OIDCIssuer != identity.Issuer || row.OIDCSubject != identity.Subject {
			return notInvited()
		}
		return attempts.Reset(tx, limit)
	})
	return in, f.Next, err
}

func (s *SingleSignOn) open(cookie string) (flow, error) {
	var f flow
	plain, err := s.sealer.OpenToken(flowPurpose, cookie)
	if err != nil {
		return f, invalidFlow()
	}
	if err := json.Unmarshal(plain, &f); err != nil {
		return f, fault.Internal(err)
	}
	if age := s.people.now().Sub(f.Started); age < -time.Minute || age >= SingleSignOnLifetime {
		return f, invalidFlow()
	}
	return f, nil
}

// spend marks a sign-in as consumed for all replicas. A second call returns
// INVALID_PARAMETER.
func (s *SingleSignOn) spend(ctx context.Context, state string, until time.Time) error {
	sum := sha256.Sum256([]byte(state))
	result := s.people.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&models.SpentSignIn{Hash: sum[:], ExpiresAt: until})
	if result.Error != nil {
		return fault.Internal(result.Error)
	}
	if result.RowsAffected == 0 {
		return invalidFlow()
	}
	return nil
}

func (s *SingleSignOn) identify(ctx context.Context, answer SSOResponse, q Challenge) (Identity, error) {
	if answer.Error != "" || answer.Code == "" {
		return Identity{}, fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "The identity provider didn't sign you in. Try again.")
	}
	identity, err := s.provider.Identify(ctx, answer.Code, answer.Issuer, q)
	if err == nil && (identity.Issuer == "" || identity.Subject == "") {
		err = fault.Unauthorized()
	}
	return identity, err
}

func (s *SingleSignOn) refused(ctx context.Context, reason string) error {
	return s.people.recordFailure(ctx, &models.User{}, "single sign-on: "+reason)
}

func invalidFlow() error {
	return fault.Invalid("This sign-in was started in another browser, has expired or was already completed. Start it again.")
}
