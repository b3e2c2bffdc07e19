package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SecondStepTTL is the time to complete a sign-in after the password.
const SecondStepTTL = 5 * time.Minute

const stepPurpose = "gateway second step v1"

// Factors are the second factors of users. Implemented by factors.Store.
type Factors interface {
	// Active reports whether a sign-in of the user with a password requires a
	// second factor.
	Active(tx *gorm.DB, userID string) (bool, error)
	// RemoveAll deletes every factor of the user and returns their number.
	RemoveAll(tx *gorm.DB, userID string) (int64, error)
}

// Proof is a second factor that a user presents.
type Proof interface {
	Method() string  // for the audit log, such as "passkey"
	Guessable() bool // reports whether attempts must be limited by account
	// Check consumes the proof of the user. It returns UNAUTHORIZED if it is
	// wrong, expired or already consumed.
	Check(tx *gorm.DB, userID string) error
}

// Identification is a Proof that identifies its user and needs no password.
type Identification interface {
	Proof
	// UserID returns the user, or UNAUTHORIZED. Only Check verifies the proof.
	UserID(ctx context.Context) (string, error)
}

// UseFactors sets the second factors of users. It must be called before the
// first sign-in. Without it, users have none.
func (p *Users) UseFactors(f Factors) { p.factors = f }

// secondStep is the content of the cookie between the password and the second
// factor.
type secondStep struct {
	ID      []byte    `json:"id"`
	UserID  string    `json:"userId"`
	Hash    []byte    `json:"hash"` // of the stored password, which may change in between
	Started time.Time `json:"started"`
}

// needsProof reports whether a password alone doesn't authenticate the user.
func (p *Users) needsProof(tx *gorm.DB, userID string) (bool, error) {
	if p.factors == nil {
		return false, nil
	}
	return p.factors.Active(tx, userID)
}

// startSecondStep returns the cookie of a user whose password was correct. hash
// is the password's stored hash, also runs in the same transaction.
func (p *Users) startSecondStep(ctx context.Context, user models.User, hash string, also func(*gorm.DB) error) (SignedIn, error) {
	step := secondStep{ID: make([]byte, randomSize), UserID: user.ID, Hash: passwordMark(hash), Started: p.now()}
	rand.Read(step.ID) // never fails
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := also(tx); err != nil {
			return err
		}
		row, err := userByID(tx, user.ID)
		if err == nil && !step.matches(row) {
			return wrongCredentials() // the password changed during the check
		}
		return err
	})
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	plain, err := json.Marshal(step)
	if err != nil {
		return SignedIn{}, fault.Internal(err)
	}
	return SignedIn{SecondStep: secrets.NewValue(p.sealer.SealToken(stepPurpose, plain))}, nil
}

// SecondStep returns the user whose sign-in a cookie continues. It returns
// INVALID_PARAMETER for an invalid or expired cookie, and after a change of the
// password.
func (p *Users) SecondStep(ctx context.Context, cookie string) (User, error) {
	_, row, err := p.openSecondStep(ctx, cookie)
	if err != nil {
		return User{}, fault.From(err)
	}
	user, err := p.person(p.db.WithContext(ctx), &row)
	if err != nil {
		return User{}, fault.From(err)
	}
	return user, nil
}

func (p *Users) openSecondStep(ctx context.Context, cookie string) (secondStep, models.User, error) {
	var step secondStep
	plain, err := p.sealer.OpenToken(stepPurpose, cookie)
	if err != nil || json.Unmarshal(plain, &step) != nil {
		return step, models.User{}, endedStep()
	}
	if age := p.now().Sub(step.Started); age < -time.Minute || age >= SecondStepTTL {
		return step, models.User{}, endedStep()
	}
	user, err := userByID(p.db.WithContext(ctx), step.UserID)
	if fault.Is(err, fault.CodeNotFound) || err == nil && (user.DisabledAt != nil || !step.matches(user)) {
		return step, user, endedStep()
	}
	return step, user, err
}

// matches reports whether the user's password is still the one that was given.
func (s secondStep) matches(user models.User) bool {
	return subtle.ConstantTimeCompare(s.Hash, passwordMark(user.PasswordHash)) == 1
}

func passwordMark(hash string) []byte {
	sum := sha256.Sum256([]byte(hash))
	return sum[:]
}

// FinishSignIn completes the sign-in of a cookie from SignIn with a second
// factor, once. It starts a session as SignIn does and records the sign-in or
// its failure. It returns INVALID_PARAMETER if the password must be entered
// again, UNAUTHORIZED for a wrong proof and RATE_LIMITED after too many.
func (p *Users) FinishSignIn(ctx context.Context, cookie string, proof Proof, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	step, user, err := p.openSecondStep(ctx, cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	limits := p.proofLimits(proof, user.Email, from)
	if err := p.countProof(ctx, &user, limits); err != nil {
		return SignedIn{}, err
	}
	in, err := p.startSession(ctx, user, from, p.now(), "password and "+proof.Method(), func(tx *gorm.DB, now models.User) error {
		if !step.matches(now) {
			return endedStep()
		}
		if err := proof.Check(tx, now.ID); err != nil {
			return err
		}
		if err := p.consume(tx, step); err != nil {
			return err
		}
		return attempts.Reset(tx, limits...)
	})
	return in, p.wrongProof(ctx, &user, proof, err)
}

// SignInAlone signs a user in with a proof that needs no password. It starts a
// session as SignIn does and records the sign-in or its failure. It returns
// UNAUTHORIZED for a wrong proof or a disabled user, and RATE_LIMITED.
func (p *Users) SignInAlone(ctx context.Context, proof Identification, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	limits := p.proofLimits(proof, "", from)
	if err := p.countProof(ctx, &models.User{}, limits); err != nil {
		return SignedIn{}, err
	}
	id, err := proof.UserID(ctx)
	if err != nil {
		return SignedIn{}, p.wrongProof(ctx, &models.User{}, proof, err)
	}
	user, err := userByID(p.db.WithContext(ctx), id)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	in, err := p.startSession(ctx, user, from, p.now(), proof.Method(), func(tx *gorm.DB, now models.User) error {
		if err := proof.Check(tx, now.ID); err != nil {
			return err
		}
		return attempts.Reset(tx, limits...)
	})
	return in, p.wrongProof(ctx, &user, proof, err)
}

// proofLimits returns the limits of attempts with a proof.
func (p *Users) proofLimits(proof Proof, email string, from Browser) []attempts.Limit {
	if !proof.Guessable() {
		return []attempts.Limit{attempts.OfAddress(from.IP)}
	}
	return []attempts.Limit{p.attempts.OfCode(foldEmail(email), from.Device)}
}

// countProof counts an attempt. Over a limit, it returns RATE_LIMITED and
// records that once.
func (p *Users) countProof(ctx context.Context, user *models.User, limits []attempts.Limit) error {
	first, limited := p.attempts.Count(ctx, limits...)
	if limited != nil && first {
		if err := p.recordFailure(ctx, user, tooManyAttempts); err != nil {
			return err
		}
	}
	return limited
}

// wrongProof records a rejected proof and returns the error.
func (p *Users) wrongProof(ctx context.Context, user *models.User, proof Proof, err error) error {
	if err == nil || !fault.Is(err, fault.CodeUnauthorized) {
		return err
	}
	if err := p.recordFailure(ctx, user, proof.Method()); err != nil {
		return err
	}
	return err
}

// consume marks a second step as completed for all replicas.
func (p *Users) consume(tx *gorm.DB, step secondStep) error {
	sum := sha256.Sum256(step.ID)
	done := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.SpentSignIn{Hash: sum[:], ExpiresAt: step.Started.Add(SecondStepTTL)})
	if done.Error == nil && done.RowsAffected == 0 {
		return endedStep()
	}
	return done.Error
}

// StepUpWith confirms the password of a signed-in user together with a second
// factor, which may be nil if the user has none. Otherwise it is StepUp. For a
// missing or wrong factor it returns VALIDATION_FAILED for the field "code".
func (p *Users) StepUpWith(ctx context.Context, password secrets.Value, proof Proof, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	_, user, err := p.liveSession(p.db.WithContext(ctx), from.Cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	needed, err := p.needsProof(p.db.WithContext(ctx), user.ID)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	method := "password"
	if needed && proof == nil {
		return SignedIn{}, fault.Validation(map[string]string{"code": "Enter a code."})
	}
	if needed {
		method += " and " + proof.Method()
	}
	in, err := p.reauthenticate(ctx, password, "password", from, nothing, func(tx *gorm.DB, user *models.User, _ string) error {
		if needed {
			if err := proof.Check(tx, user.ID); err != nil {
				return err
			}
		}
		return p.audit.Record(tx, entry("step_up", user, "method", method))
	})
	if needed && fault.Is(err, fault.CodeUnauthorized) {
		wrong := fault.Validation(map[string]string{"code": fault.From(err).Message})
		if err := p.recordFailure(ctx, &user, "step-up"); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, wrong
	}
	return in, err
}

// StepUpAlone is StepUp with a proof that needs no password. It returns
// UNAUTHORIZED for a wrong proof or another user's.
func (p *Users) StepUpAlone(ctx context.Context, proof Identification, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	session, user, err := p.liveSession(p.db.WithContext(ctx), from.Cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	limit := attempts.OfStepUp(session.ID)
	if err := p.countStepUp(ctx, &user, limit); err != nil {
		return SignedIn{}, err
	}
	id, err := proof.UserID(ctx)
	if err == nil && id != user.ID {
		err = fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "This passkey belongs to another account.")
	}
	if err != nil {
		return SignedIn{}, p.wrongProof(ctx, &user, proof, err)
	}
	in, err := p.renewed(ctx, user, limit, from, func(tx *gorm.DB, user *models.User, _ string) error {
		if err := proof.Check(tx, user.ID); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("step_up", user, "method", proof.Method()))
	})
	return in, p.wrongProof(ctx, &user, proof, err)
}

// ResetFactors deletes every second factor of a user, ends their sessions and
// records it. It is for administrators. It returns NOT_FOUND, and CONFLICT for
// a user without factors.
func (p *Users) ResetFactors(ctx context.Context, id string) error {
	return p.withdraw(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		if err != nil {
			return err
		}
		var removed int64
		if p.factors != nil {
			if removed, err = p.factors.RemoveAll(tx, id); err != nil {
				return err
			}
		}
		if removed == 0 {
			return fault.Conflict("%s has no second factor.", row.Email)
		}
		if _, err := p.endSessions(tx, id, ""); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("factor.removed_all", &row, "by", "administrator", "factors", decimal(removed)))
	})
}

func endedStep() error {
	return fault.Invalid("This sign-in has expired or was already completed. Enter your password again.")
}
