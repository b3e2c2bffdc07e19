package access

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SignIn starts a session of the user with the email address and password, ends
// the browser's previous session, and records the sign-in or its failure. Every
// wrong input returns the same UNAUTHORIZED after the same amount of work. It
// returns RATE_LIMITED after too many attempts and UNAVAILABLE if too many
// users sign in at once. For a user with a second factor, it starts no session:
// FinishSignIn completes the sign-in.
func (p *Users) SignIn(ctx context.Context, email string, password secrets.Value, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	limits := p.attempts.OfSignIn(foldEmail(email), from.IP, from.Device)
	user, err := p.attempt(ctx, email, limits)
	if err != nil {
		return SignedIn{}, err
	}
	queue := passwords.NetworkQueue(from.IP)
	ok, outdated, err := p.passwords.Matches(ctx, queue, user.PasswordHash, password)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	if !ok || user.DisabledAt != nil {
		if err := p.recordFailure(ctx, &user, "credentials"); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, wrongCredentials()
	}
	var renewed string
	if outdated {
		if renewed, err = p.passwords.Hash(ctx, queue, password); err != nil {
			return SignedIn{}, fault.From(err)
		}
	}
	passed := func(tx *gorm.DB) error {
		if err := attempts.Reset(tx, limits...); err != nil {
			return err
		}
		if renewed != "" {
			return tx.Model(&models.User{}).Where("id = ? AND password_hash = ?", user.ID, user.PasswordHash).Update("password_hash", renewed).Error
		}
		return nil
	}
	needsProof, err := p.needsProof(p.db.WithContext(ctx), user.ID)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	if needsProof {
		return p.startSecondStep(ctx, user, cmp.Or(renewed, user.PasswordHash), passed)
	}
	return p.startSession(ctx, user, from, p.now(), "password", func(tx *gorm.DB, now models.User) error {
		if now.PasswordHash != user.PasswordHash {
			return wrongCredentials() // the password changed during the check
		}
		return passed(tx)
	})
}

// tooManyAttempts is the reason recorded in the audit log.
const tooManyAttempts = "too many attempts"

// attempt counts a sign-in attempt and returns the account's row, or an empty
// one for an unknown account.
func (p *Users) attempt(ctx context.Context, email string, limits []attempts.Limit) (models.User, error) {
	first, limited := p.attempts.Count(ctx, limits...)
	if limited != nil && !first {
		return models.User{}, limited
	}
	var user models.User
	err := p.db.WithContext(ctx).First(&user, "email_fold = ?", foldEmail(email)).Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return models.User{}, fault.Internal(err)
	}
	if limited != nil {
		// Recorded once per limit and window.
		if err := p.recordFailure(ctx, &user, tooManyAttempts); err != nil {
			return models.User{}, err
		}
	}
	return user, limited
}

// startSession starts the session of an authenticated user and ends the user's
// invite. also runs in the same transaction with the current row.
func (p *Users) startSession(ctx context.Context, user models.User, from Browser, authenticatedAt time.Time, method string, also func(*gorm.DB, models.User) error) (SignedIn, error) {
	var in SignedIn
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		row, err := userByID(tx.Clauses(models.LockRow(tx)...), user.ID)
		if fault.Is(err, fault.CodeNotFound) || err == nil && row.DisabledAt != nil {
			return wrongCredentials()
		}
		if err != nil {
			return err
		}
		if err := also(tx, row); err != nil {
			return err
		}
		if err := useLinks(tx, row.ID, models.LinkJoin); err != nil {
			return err
		}
		now := p.now()
		if err := tx.Model(&models.User{}).Where("id = ?", row.ID).Update("last_login_at", now).Error; err != nil {
			return err
		}
		row.LastLoginAt = &now
		if in, err = p.begin(tx, row, from, authenticatedAt); err != nil {
			return err
		}
		return p.audit.Record(actingAs(tx, &row, from.IP), entry("login.succeeded", &row, "method", method))
	})
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	return in, nil
}

// recordFailure records a failed attempt. For an unknown account, nothing that
// was typed is stored.
func (p *Users) recordFailure(ctx context.Context, user *models.User, reason string) error {
	e := entry("login.failed", user, "reason", reason)
	if user.ID == "" {
		e.Object = "unknown account"
	}
	return fromTransaction(p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return p.audit.Record(tx, e) }))
}

// StepUp confirms the password of a signed-in user before a sensitive action.
// It renews the cookie value and records the confirmation. It returns
// UNAUTHORIZED without a live session, VALIDATION_FAILED for a wrong password
// and RATE_LIMITED after too many.
func (p *Users) StepUp(ctx context.Context, password secrets.Value, from Browser) (SignedIn, error) {
	return p.StepUpWith(ctx, password, nil, from)
}

// reauthenticate checks the password of a session's user and runs before. Then it
// renews the session and runs also in one transaction. field is the password's
// field name in faults.
func (p *Users) reauthenticate(ctx context.Context, password secrets.Value, field string, from Browser, before func() error, also func(tx *gorm.DB, user *models.User, sessionID string) error) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	session, user, err := p.liveSession(p.db.WithContext(ctx), from.Cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	limit := attempts.OfStepUp(session.ID)
	if err := p.countStepUp(ctx, &user, limit); err != nil {
		return SignedIn{}, err
	}
	ok, _, err := p.passwords.Matches(ctx, passwords.SignedInQueue(session.ID), user.PasswordHash, password)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	if !ok {
		if err := p.recordFailure(ctx, &user, "step-up"); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, fault.Validation(map[string]string{field: "That password isn't right. Try again."})
	}
	if err := before(); err != nil {
		return SignedIn{}, fault.From(err)
	}
	return p.renewed(ctx, user, limit, from, also)
}

// renewed renews the session of an authenticated user and runs also in one
// transaction. limit is the limit that the authentication counted for.
func (p *Users) renewed(ctx context.Context, user models.User, limit attempts.Limit, from Browser, also func(tx *gorm.DB, user *models.User, sessionID string) error) (SignedIn, error) {
	var in SignedIn
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		current, err := userByID(tx.Clauses(models.LockRow(tx)...), user.ID)
		if err != nil {
			return err
		}
		row, _, err := p.liveSession(tx, from.Cookie)
		if err != nil {
			return err
		}
		if current.PasswordHash != user.PasswordHash {
			return fault.Conflict("Your password was changed. Sign in again.")
		}
		if in, err = p.renew(tx, row, current, from.Cookie); err != nil {
			return err
		}
		if err := attempts.Reset(tx, limit); err != nil {
			return err
		}
		return also(actingAs(tx, &current, from.IP), &current, row.ID)
	})
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	return in, nil
}

// countStepUp counts a confirmation of the password. Over the limit, it returns
// RATE_LIMITED and records it once.
func (p *Users) countStepUp(ctx context.Context, user *models.User, limit attempts.Limit) error {
	first, limited := p.attempts.Count(ctx, limit)
	if limited != nil && first {
		if err := p.recordFailure(ctx, user, tooManyAttempts); err != nil {
			return err
		}
	}
	return limited
}

func nothing() error { return nil }

// NeedStepUp returns STEP_UP_REQUIRED if confirmedUntil, from the SessionInfo,
// has passed.
func (p *Users) NeedStepUp(confirmedUntil time.Time) error {
	if p.now().Before(confirmedUntil) {
		return nil
	}
	return fault.New(fault.KindForbidden, fault.CodeStepUpRequired, "Confirm your password to continue.")
}

// fromClient sets an unauthenticated client as the actor, unless the context
// has a more specific one.
func fromClient(ctx context.Context, from Browser) context.Context {
	actor := activity.ActorOf(ctx)
	if actor.Kind == activity.ActorSystem {
		actor.Kind = activity.ActorClient
	}
	if actor.IP == "" {
		actor.IP = from.IP
	}
	return activity.WithActor(ctx, actor)
}

func wrongCredentials() *fault.Fault {
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "Incorrect email or password.")
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
