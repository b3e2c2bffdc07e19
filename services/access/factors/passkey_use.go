package factors

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// SignInChallenge returns the challenge of a sign-in without a password. It is
// zero if browsers allow no passkeys here.
func (s *Store) SignInChallenge() (Challenge, error) {
	if s.relying == nil {
		return Challenge{}, nil
	}
	assertion, session, err := s.relying.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	return s.challenge(assertion.Response, passkeyState{For: signInAlone, Session: *session})
}

// StepUpChallenge returns the challenge of a confirmation without a password. It
// is zero for a user without a passkey.
func (s *Store) StepUpChallenge(ctx context.Context, userID string) (Challenge, error) {
	return s.challengeOf(ctx, userID, stepUpAlone, protocol.VerificationRequired)
}

// SecondStepChallenge returns the challenge after the password. It is zero for a
// user without a passkey.
func (s *Store) SecondStepChallenge(ctx context.Context, userID string) (Challenge, error) {
	return s.challengeOf(ctx, userID, afterPassword, protocol.VerificationPreferred)
}

func (s *Store) challengeOf(ctx context.Context, userID string, made purpose, verification protocol.UserVerificationRequirement) (Challenge, error) {
	user, err := s.owner(s.DB.WithContext(ctx), Person{ID: userID})
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	if s.relying == nil || len(user.credentials) == 0 {
		return Challenge{}, nil
	}
	assertion, session, err := s.relying.BeginLogin(user, webauthn.WithUserVerification(verification))
	if err != nil {
		return Challenge{}, fault.Internal(err)
	}
	return s.challenge(assertion.Response, passkeyState{For: made, Session: *session})
}

// PasskeyProof is a browser's response to a challenge. It implements
// access.Proof, and access.Identification if the device verified its user.
type PasskeyProof struct {
	store            *Store
	sealed, response string
	purpose          purpose
}

// SecondStepPasskey is the response to a SecondStepChallenge. It is an
// access.Proof, but doesn't replace the password.
type SecondStepPasskey struct{ proof PasskeyProof }

// SignInPasskey returns the response to a SignInChallenge.
func (s *Store) SignInPasskey(state, response string) PasskeyProof {
	return PasskeyProof{s, state, response, signInAlone}
}

// StepUpPasskey returns the response to a StepUpChallenge.
func (s *Store) StepUpPasskey(state, response string) PasskeyProof {
	return PasskeyProof{s, state, response, stepUpAlone}
}

// SecondStepPasskey returns the response to a SecondStepChallenge.
func (s *Store) SecondStepPasskey(state, response string) SecondStepPasskey {
	return SecondStepPasskey{PasskeyProof{s, state, response, afterPassword}}
}

// Method implements access.Proof.
func (SecondStepPasskey) Method() string { return "passkey" }

// Guessable implements access.Proof.
func (SecondStepPasskey) Guessable() bool { return false }

// Check implements access.Proof.
func (p SecondStepPasskey) Check(tx *gorm.DB, userID string) error { return p.proof.Check(tx, userID) }

// Method implements access.Proof.
func (PasskeyProof) Method() string { return "passkey" }

// Guessable implements access.Proof.
func (PasskeyProof) Guessable() bool { return false }

// parse returns the state of the challenge and the browser's response.
func (p PasskeyProof) parse() (passkeyState, *protocol.ParsedCredentialAssertionData, error) {
	state, err := p.store.open(p.sealed, p.purpose)
	if err != nil {
		return state, nil, err
	}
	if len(p.response) > maxCredential {
		return state, nil, wrongPasskey()
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(p.response))
	if err != nil {
		return state, nil, wrongPasskey()
	}
	return state, parsed, nil
}

// UserID implements access.Identification.
func (p PasskeyProof) UserID(ctx context.Context) (string, error) {
	_, parsed, err := p.parse()
	if err != nil {
		return "", err
	}
	var row models.Passkey
	err = p.store.DB.WithContext(ctx).Select("user_id").First(&row, "credential_id = ?", parsed.RawID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return "", wrong("The gateway doesn't know this passkey. Sign in another way.")
	}
	if err != nil {
		return "", fault.Internal(err)
	}
	return row.UserID, nil
}

// Check implements access.Proof. It verifies the signature and stores the
// passkey's new counter. A counter that didn't increase shows a copied passkey,
// which is rejected.
func (p PasskeyProof) Check(tx *gorm.DB, userID string) error {
	state, parsed, err := p.parse()
	if err != nil {
		return err
	}
	user, err := p.store.owner(tx, Person{ID: userID})
	if err != nil {
		return err
	}
	var credential *webauthn.Credential
	if p.purpose == signInAlone {
		_, credential, err = p.store.relying.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return user, nil }, state.Session, parsed)
	} else {
		credential, err = p.store.relying.ValidateLogin(user, state.Session, parsed)
	}
	if err != nil || credential.Authenticator.CloneWarning {
		return wrongPasskey()
	}
	if err := consume(tx, hashOf(state.Session.Challenge), state.Until); err != nil {
		return err
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return err
	}
	return tx.Model(&models.Passkey{}).Where("user_id = ? AND credential_id = ?", userID, credential.ID).
		Updates(map[string]any{"credential": string(text), "used_at": p.store.Now()}).Error
}
