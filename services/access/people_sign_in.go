package access

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SignIn begins a session of the person with the e-mail address and password,
// ends the one that the browser had, and records the sign-in or its failure.
// Whatever is wrong, the fault is the same UNAUTHORIZED, after the same work.
// It returns RATE_LIMITED after too many attempts and UNAVAILABLE when too
// many people sign in at once.
func (p *People) SignIn(ctx context.Context, email string, password secrets.Value, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	limits := p.loginLimits(email, from)
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
	return p.enter(ctx, user, from, p.now(), "password", func(tx *gorm.DB, now models.User) error {
		if now.PasswordHash != user.PasswordHash {
			return wrongCredentials() // it was changed while it was checked
		}
		if err := forgiveLogins(tx, limits...); err != nil {
			return err
		}
		if renewed != "" {
			return tx.Model(&models.User{}).Where("id = ?", user.ID).Update("password_hash", renewed).Error
		}
		return nil
	})
}

// attempt counts an attempt to sign in and returns the account's row, or an
// empty one when there is none.
func (p *People) attempt(ctx context.Context, email string, limits []loginLimit) (models.User, error) {
	first, limited := p.countLogins(ctx, limits...)
	if limited != nil && !first {
		return models.User{}, limited
	}
	var user models.User
	err := p.db.WithContext(ctx).First(&user, "email_fold = ?", foldEmail(email)).Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return models.User{}, fault.Internal(err)
	}
	if limited != nil {
		// Recorded once for each limit, for an administrator to notice.
		if err := p.recordFailure(ctx, &user, tooManyAttempts); err != nil {
			return models.User{}, err
		}
	}
	return user, limited
}

// enter begins the session of a person who proved who they are. also runs in
// the same transaction with the row as it is now.
func (p *People) enter(ctx context.Context, user models.User, from Browser, authenticatedAt time.Time, method string, also func(*gorm.DB, models.User) error) (SignedIn, error) {
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

// recordFailure records a failed attempt. Of an unknown account nothing that
// was typed is kept.
func (p *People) recordFailure(ctx context.Context, user *models.User, reason string) error {
	e := entry("login.failed", user, "reason", reason)
	if user.ID == "" {
		e.Object = "unknown account"
	}
	return fromTransaction(p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return p.audit.Record(tx, e) }))
}

// StepUp lets a signed-in person prove again who they are, which careful
// actions ask for. It renews the cookie's value and records the step. It
// returns UNAUTHORIZED without a live session, VALIDATION_FAILED for a wrong
// password and RATE_LIMITED after too many.
func (p *People) StepUp(ctx context.Context, password secrets.Value, from Browser) (SignedIn, error) {
	return p.proved(ctx, password, "password", from, nothing, func(tx *gorm.DB, user *models.User, _ string) error {
		return p.audit.Record(tx, entry("step_up", user))
	})
}

// proved checks the password of a session's person, runs before, then renews
// the session and runs also in one transaction. field names the password in a
// fault.
func (p *People) proved(ctx context.Context, password secrets.Value, field string, from Browser, before func() error, also func(tx *gorm.DB, user *models.User, sessionID string) error) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	session, user, err := p.liveSession(p.db.WithContext(ctx), from.Cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	limit := stepUpLimit(session.ID)
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
		return SignedIn{}, fault.Validation(map[string]string{field: "this is not your password"})
	}
	if err := before(); err != nil {
		return SignedIn{}, fault.From(err)
	}
	var in SignedIn
	err = p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		current, err := userByID(tx.Clauses(models.LockRow(tx)...), user.ID)
		if err != nil {
			return err
		}
		row, _, err := p.liveSession(tx, from.Cookie)
		if err != nil {
			return err
		}
		if current.PasswordHash != user.PasswordHash {
			return fault.Conflict("the password was changed meanwhile: sign in again")
		}
		if in, err = p.renew(tx, row, current, from.Cookie); err != nil {
			return err
		}
		if err := forgiveLogins(tx, limit); err != nil {
			return err
		}
		return also(actingAs(tx, &current, from.IP), &current, row.ID)
	})
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	return in, nil
}

// countStepUp counts a confirmation of the password and returns RATE_LIMITED
// beyond the limit, which it records once.
func (p *People) countStepUp(ctx context.Context, user *models.User, limit loginLimit) error {
	first, limited := p.countLogins(ctx, limit)
	if limited != nil && first {
		if err := p.recordFailure(ctx, user, tooManyAttempts); err != nil {
			return err
		}
	}
	return limited
}

func nothing() error { return nil }

// NeedStepUp returns STEP_UP_REQUIRED unless the proof of who a person is, which
// holds until the SessionInfo's ConfirmedUntil, is still good.
func (p *People) NeedStepUp(confirmedUntil time.Time) error {
	if p.now().Before(confirmedUntil) {
		return nil
	}
	return fault.New(fault.KindForbidden, fault.CodeStepUpRequired, "Confirm your password to continue.")
}

// fromClient names whoever is not signed in yet as the actor, unless the
// context knows better.
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
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "the e-mail address or the password is wrong")
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
