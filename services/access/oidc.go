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
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SingleSignOnLifetime is how long a sign-in by the identity provider may take.
const SingleSignOnLifetime = 10 * time.Minute

// maxFlowCookie is the longest cookie value of a sign-in, in characters:
// browsers drop longer ones (RFC 6265, section 6.1), with the name's share.
const maxFlowCookie = 3800

// flowPurpose is what the tokens of begun sign-ins are sealed for.
const flowPurpose = "single sign-on"

// Identity is whom the identity provider proved. Issuer and Subject together
// name them for ever; an e-mail address names whoever holds it today.
type Identity struct {
	Issuer, Subject string
	Email           string
	EmailVerified   bool
	Name            string
	AuthenticatedAt time.Time // zero when the provider does not say
}

// Challenge is what ties a provider's answer to the question.
type Challenge struct {
	State    string
	Nonce    string
	Verifier string // of PKCE (RFC 7636); the provider is sent its S256 challenge
	Fresh    bool   // the person must prove again who they are, even if the provider remembers them
}

// IdentityProvider is the OpenID Connect provider.
type IdentityProvider interface {
	// AuthorizeURL returns where to send the browser, or UNAVAILABLE.
	AuthorizeURL(ctx context.Context, q Challenge) (string, error)
	// Identify redeems the code of an answer and returns the identity that its
	// verified ID token proves. issuer is the answer's parameter iss, or empty.
	// It returns UNAUTHORIZED for an answer that proves nothing, and UNAVAILABLE.
	Identify(ctx context.Context, code, issuer string, q Challenge) (Identity, error)
}

// TokenSealer seals what a browser carries for us.
type TokenSealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// SingleSignOn signs people in by an identity provider (OpenID Connect Core
// 1.0, authorization code flow with PKCE).
type SingleSignOn struct {
	people   *People
	provider IdentityProvider
	sealer   TokenSealer
	domains  []string
}

// NewSingleSignOn returns the sign-in by provider. People with a verified
// e-mail address of the domains, in lower case, are let in as viewers without
// an invitation.
func NewSingleSignOn(people *People, provider IdentityProvider, sealer TokenSealer, domains []string) *SingleSignOn {
	return &SingleSignOn{people: people, provider: provider, sealer: sealer, domains: domains}
}

// SSOAnswer is what the provider sent the browser back with.
type SSOAnswer struct {
	State  string
	Code   string
	Issuer string // parameter iss (RFC 9207), or empty
	Error  string // parameter error, or empty
}

// flow is what a browser carries between start and finish. State, nonce and
// verifier are derived from the secret, so that nothing is stored until the
// provider has answered.
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

// Start begins a sign-in that ends at the local path next. It returns where to
// send the browser and the value of the cookie that binds the sign-in to it.
// fresh makes the person prove again who they are. A next that is too long for
// a cookie is forgotten: Finish then returns none. It returns UNAVAILABLE when
// the provider cannot be reached.
func (s *SingleSignOn) Start(ctx context.Context, next string, fresh bool) (address string, cookie secrets.Value, err error) {
	f := flow{Secret: make([]byte, sessionSize), Next: next, Fresh: fresh, Started: s.people.now()}
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

// Finish completes the sign-in of a cookie that Start made, begins a session,
// ends the one that the browser had, and returns where to go on. It writes
// that the sign-in is spent: it completes once, in the browser that began it,
// within SingleSignOnLifetime, and otherwise is INVALID_PARAMETER. It returns
// UNAUTHORIZED when the provider proves nothing, FORBIDDEN for a person nobody
// invited or who is disabled, RATE_LIMITED and UNAVAILABLE.
func (s *SingleSignOn) Finish(ctx context.Context, cookie string, answer SSOAnswer, from Browser) (SignedIn, string, error) {
	ctx = fromClient(ctx, from)
	f, err := s.open(cookie)
	if err != nil {
		return SignedIn{}, "", err
	}
	q := f.challenge()
	if subtle.ConstantTimeCompare([]byte(answer.State), []byte(q.State)) != 1 {
		return SignedIn{}, "", spoiled()
	}
	limit := addressLimit(from.IP)
	if _, err := s.people.countLogins(ctx, limit); err != nil {
		return SignedIn{}, "", err
	}
	if err := s.spend(ctx, q.State, f.Started.Add(SingleSignOnLifetime)); err != nil {
		return SignedIn{}, "", err
	}
	identity, err := s.identify(ctx, answer, q)
	if err != nil {
		return SignedIn{}, "", errors.Join(err, s.refused(ctx, "the provider proved nothing"))
	}
	now := s.people.now()
	if f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(f.Started.Add(-time.Minute)) {
		return SignedIn{}, "", errors.Join(spoiled(), s.refused(ctx, "the provider did not ask again"))
	}
	proved := now
	if !f.Fresh && !identity.AuthenticatedAt.IsZero() && identity.AuthenticatedAt.Before(now) {
		proved = identity.AuthenticatedAt.UTC().Truncate(time.Millisecond)
	}
	user, err := s.personFor(ctx, identity)
	if err != nil {
		return SignedIn{}, "", errors.Join(err, s.refused(ctx, "nobody invited the person"))
	}
	in, err := s.people.enter(ctx, user, from, proved, "single sign-on", func(tx *gorm.DB, row models.User) error {
		if row.OIDCIssuer != identity.Issuer || row.OIDCSubject != identity.Subject {
			return uninvited()
		}
		return forgiveLogins(tx, limit)
	})
	return in, f.Next, err
}

func (s *SingleSignOn) open(cookie string) (flow, error) {
	var f flow
	plain, err := s.sealer.OpenToken(flowPurpose, cookie)
	if err != nil {
		return f, spoiled()
	}
	if err := json.Unmarshal(plain, &f); err != nil {
		return f, fault.Internal(err)
	}
	if age := s.people.now().Sub(f.Started); age < -time.Minute || age >= SingleSignOnLifetime {
		return f, spoiled()
	}
	return f, nil
}

// spend lets a sign-in pass once, over all replicas.
func (s *SingleSignOn) spend(ctx context.Context, state string, until time.Time) error {
	sum := sha256.Sum256([]byte(state))
	result := s.people.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&models.SpentSignIn{Hash: sum[:], ExpiresAt: until})
	if result.Error != nil {
		return fault.Internal(result.Error)
	}
	if result.RowsAffected == 0 {
		return spoiled()
	}
	return nil
}

func (s *SingleSignOn) identify(ctx context.Context, answer SSOAnswer, q Challenge) (Identity, error) {
	if answer.Error != "" || answer.Code == "" {
		return Identity{}, fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "the identity provider did not sign you in: try again")
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

// personFor returns the person of an identity: who has it already; else who
// was invited by the verified e-mail address and has neither password nor
// identity yet; else, for an allowed domain, a new viewer. Everybody else is
// FORBIDDEN. Whom it links or adds is recorded.
func (s *SingleSignOn) personFor(ctx context.Context, identity Identity) (models.User, error) {
	user, err := s.resolve(ctx, identity)
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		// The same person came in by another window at the same moment.
		user, err = s.resolve(ctx, identity)
	}
	if err != nil {
		return models.User{}, fault.From(err)
	}
	if user.DisabledAt != nil {
		return models.User{}, uninvited()
	}
	return user, nil
}

func (s *SingleSignOn) resolve(ctx context.Context, identity Identity) (models.User, error) {
	var user models.User
	db := s.people.db.WithContext(ctx)
	err := db.First(&user, "oidc_issuer = ? AND oidc_subject = ?", identity.Issuer, identity.Subject).Error
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return user, err
	}
	if !identity.EmailVerified || emailProblem(identity.Email) != "" {
		return user, uninvited()
	}
	err = db.First(&user, "email_fold = ?", foldEmail(identity.Email)).Error
	switch {
	case err == nil:
		return s.link(ctx, user.ID, identity)
	case errors.Is(err, gorm.ErrRecordNotFound) && s.allowed(identity.Email):
		return s.admit(ctx, identity)
	case errors.Is(err, gorm.ErrRecordNotFound):
		return user, uninvited()
	}
	return user, err
}

// allowed reports whether people with an e-mail address of its domain need no
// invitation.
func (s *SingleSignOn) allowed(email string) bool {
	_, domain, _ := cutLast(foldEmail(email), "@")
	return slices.Contains(s.domains, domain)
}

// link gives an invited person their identity.
func (s *SingleSignOn) link(ctx context.Context, id string, identity Identity) (models.User, error) {
	var user models.User
	err := s.people.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		if user, err = s.people.held(tx, id, false); err != nil {
			return err
		}
		if user.PasswordHash != "" || user.OIDCSubject != "" || user.DisabledAt != nil {
			return uninvited()
		}
		user.OIDCIssuer, user.OIDCSubject = identity.Issuer, identity.Subject
		err = tx.Model(&models.User{}).Where("id = ?", id).Updates(map[string]any{"oidc_issuer": identity.Issuer, "oidc_subject": identity.Subject}).Error
		if err != nil {
			return err
		}
		return s.people.audit.Record(actingAs(tx, &user, ""), entry("person.linked", &user, "issuer", identity.Issuer))
	})
	return user, err
}

// admit adds a person of an allowed domain as a viewer.
func (s *SingleSignOn) admit(ctx context.Context, identity Identity) (models.User, error) {
	email := strings.TrimSpace(identity.Email)
	name := strings.TrimSpace(identity.Name)
	if name == "" || nameProblem(name) != "" {
		name, _, _ = strings.Cut(email, "@")
	}
	user := models.User{
		ID: uuid.Must(uuid.NewV7()).String(), Email: email, EmailFold: foldEmail(email), Name: name, Role: models.RoleViewer,
		OIDCIssuer: identity.Issuer, OIDCSubject: identity.Subject, CreatedAt: s.people.now(),
	}
	err := s.people.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.people.room(tx); err != nil {
			return err
		}
		if err := tx.Create(&user).Error; err != nil {
			return err
		}
		tx = tx.WithContext(activity.WithActor(ctx, activity.Actor{Kind: activity.ActorSystem, IP: activity.ActorOf(ctx).IP, RequestID: activity.ActorOf(ctx).RequestID}))
		return s.people.audit.Record(tx, entry("person.created", &user, "role", string(user.Role), "by", "single sign-on", "issuer", identity.Issuer))
	})
	return user, err
}

func uninvited() error {
	return fault.Forbidden("nobody has invited you here under the verified e-mail address of your identity provider: ask an administrator")
}

func spoiled() error {
	return fault.Invalid("this sign-in was not begun in this browser, took too long or was completed already: begin it again")
}
