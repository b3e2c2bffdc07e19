package factors

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

const (
	passkeyPurpose = "gateway passkey v1"
	maxCredential  = 32 << 10 // bytes of a browser's response
)

// relyingParty returns the gateway as browsers know it, or nil if they allow no
// passkeys there: they require https, or localhost, and a host with a name.
func relyingParty(public *url.URL) *webauthn.WebAuthn {
	host := public.Hostname()
	if net.ParseIP(host) != nil || public.Scheme != "https" && host != "localhost" {
		return nil
	}
	relying, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Gateway", RPOrigins: []string{public.Scheme + "://" + public.Host},
		AttestationPreference: protocol.PreferNoAttestation,
	})
	if err != nil {
		return nil
	}
	return relying
}

// Passkeys reports whether browsers allow passkeys at the gateway's URL.
func (s *Store) Passkeys() bool { return s.relying != nil }

// Challenge holds the options with which a browser creates or uses a passkey.
type Challenge struct {
	Options string // of navigator.credentials, as JSON
	State   string // for the response
}

// purpose is the only use of the response to a challenge.
type purpose string

const (
	addPasskey    purpose = "add"
	signInAlone   purpose = "sign-in"     // without a password; the device verifies its user
	stepUpAlone   purpose = "step-up"     // as signInAlone
	afterPassword purpose = "second step" // the password was given
)

// passkeyState is the sealed content of Challenge.State.
type passkeyState struct {
	For       purpose
	SessionID string // of the user who adds a passkey
	Session   webauthn.SessionData
	Until     time.Time
}

// owner is a user as the library requires. It implements webauthn.User.
type owner struct {
	Person
	credentials []webauthn.Credential
}

func (o owner) WebAuthnID() []byte                         { return []byte(o.ID) }
func (o owner) WebAuthnName() string                       { return o.Email }
func (o owner) WebAuthnDisplayName() string                { return o.Email }
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

// owner returns a user with their passkeys.
func (s *Store) owner(tx *gorm.DB, person Person) (owner, error) {
	var rows []models.Passkey
	if err := tx.Order("id").Find(&rows, "user_id = ?", person.ID).Error; err != nil {
		return owner{}, err
	}
	all := make([]webauthn.Credential, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal([]byte(row.Credential), &all[i]); err != nil {
			return owner{}, err
		}
	}
	return owner{person, all}, nil
}

// NewPasskey returns the challenge to create a passkey in a user's session. It
// returns CONFLICT if browsers allow no passkeys here.
func (s *Store) NewPasskey(ctx context.Context, person Person, sessionID string) (Challenge, error) {
	if s.relying == nil {
		return Challenge{}, noPasskeys()
	}
	user, err := s.owner(s.DB.WithContext(ctx), person)
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	creation, session, err := s.relying.BeginRegistration(user,
		webauthn.WithExclusions(webauthn.Credentials(user.credentials).CredentialDescriptors()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		}))
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	return s.challenge(creation.Response, passkeyState{For: addPasskey, SessionID: sessionID, Session: *session})
}

// challenge returns the challenge with its sealed state.
func (s *Store) challenge(options any, state passkeyState) (Challenge, error) {
	state.Until = s.Now().Add(SetupTTL)
	text, err := json.Marshal(options)
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	plain, err := json.Marshal(state)
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	return Challenge{Options: string(text), State: s.Keys.SealToken(passkeyPurpose, plain)}, nil
}

// open returns the state of a challenge that was made for a purpose.
func (s *Store) open(sealed string, made purpose) (passkeyState, error) {
	var state passkeyState
	plain, err := s.Keys.OpenToken(passkeyPurpose, sealed)
	if err != nil || json.Unmarshal(plain, &state) != nil || state.For != made || !s.Now().Before(state.Until) || s.relying == nil {
		return state, expired()
	}
	return state, nil
}

// AddPasskey stores the passkey that a browser created for a challenge of
// NewPasskey, and records it. It returns the recovery codes if this is the
// user's first factor. It returns VALIDATION_FAILED for an invalid name,
// CONFLICT above MaxPasskeys, and UNAUTHORIZED for an invalid or expired
// response.
func (s *Store) AddPasskey(ctx context.Context, person Person, sessionID, sealed, name, response string) ([]string, error) {
	state, err := s.open(sealed, addPasskey)
	if err != nil || state.SessionID != sessionID || string(state.Session.UserID) != person.ID {
		return nil, expired()
	}
	if name, err = cleanName(name); err != nil {
		return nil, err
	}
	if len(response) > maxCredential {
		return nil, wrongPasskey()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(response))
	if err != nil {
		return nil, wrongPasskey()
	}
	var codes []string
	err = s.change(ctx, person, func(tx *gorm.DB) error {
		user, err := s.owner(tx, person)
		if err != nil {
			return err
		}
		if len(user.credentials) >= MaxPasskeys {
			return fault.Conflict("You have %d already. Remove one first.", MaxPasskeys)
		}
		credential, err := s.relying.CreateCredential(user, state.Session, parsed)
		if err != nil {
			return wrongPasskey()
		}
		if err := consume(tx, hashOf(state.Session.Challenge), state.Until); err != nil {
			return err
		}
		codes, err = s.storePasskey(tx, person, name, credential)
		return err
	})
	return codes, err
}

func (s *Store) storePasskey(tx *gorm.DB, person Person, name string, credential *webauthn.Credential) ([]string, error) {
	var known int64
	if err := tx.Model(&models.Passkey{}).Where("credential_id = ?", credential.ID).Count(&known).Error; err != nil {
		return nil, err
	}
	if known > 0 {
		return nil, fault.Conflict("This passkey is already in use.")
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	row := models.Passkey{ID: uuid.Must(uuid.NewV7()).String(), UserID: person.ID, Name: name, CredentialID: credential.ID, Credential: string(text), CreatedAt: s.Now()}
	return s.added(tx, person, &row, "kind", string(KindPasskey), "name", name)
}

func noPasskeys() error {
	return fault.Conflict("Browsers allow passkeys only at an https address with a name. Set GATEWAY_PUBLIC_URL to one.")
}

func wrongPasskey() error { return wrong("This passkey wasn't accepted. Try again.") }
