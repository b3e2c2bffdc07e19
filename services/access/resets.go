package access

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// ResetLifetime is the lifetime of a password reset link.
const ResetLifetime = time.Hour

// CreateReset replaces the reset link of a user who has joined and records it.
// The password and the sessions don't change until the link is used. It returns
// NOT_FOUND for an unknown user, CONFLICT for a user who is blocked or has not
// joined, and RATE_LIMITED after too many links of the user.
func (p *Users) CreateReset(ctx context.Context, id string) (user User, link Link, err error) {
	if err := p.countLink(ctx, id); err != nil {
		return User{}, Link{}, err
	}
	err = p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		switch {
		case err != nil:
			return err
		case row.DisabledAt != nil:
			return fault.Conflict("%s is blocked. Unblock them first.", called(&row))
		case !resettable(&row):
			return fault.Conflict("%s hasn't joined yet. Create an invite link instead.", called(&row))
		}
		if link, err = p.putLink(tx, &row, models.LinkReset, ResetLifetime); err != nil {
			return err
		}
		if user, err = p.person(tx, &row); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("password.reset_created", &row))
	})
	if err != nil {
		return User{}, Link{}, err
	}
	return user, link, nil
}

// resettable reports whether a user may get a reset link: one who can sign in.
func resettable(row *models.User) bool {
	return (row.PasswordHash != "" || row.OIDCSubject != "") && row.DisabledAt == nil
}

func called(row *models.User) string { return User{Email: row.Email, Name: row.Name}.Called() }

// PendingResets returns the expiry of each valid reset link by user ID.
func (p *Users) PendingResets(ctx context.Context) (map[string]time.Time, error) {
	return p.pendingLinks(ctx, models.LinkReset)
}

// ResetOf returns the user of a reset link. It returns NOT_FOUND for an unknown,
// used or expired one and for a blocked user.
func (p *Users) ResetOf(ctx context.Context, token secrets.Value) (Invitation, error) {
	return p.linked(ctx, token, models.LinkReset)
}

// ResetPassword sets the password of the user of a reset link, ends the link and
// all sessions of the user, and records it. Second factors stay, and the user
// signs in afterwards. One of several concurrent calls succeeds. It returns
// NOT_FOUND as ResetOf does, VALIDATION_FAILED for an invalid password (field
// "password"), and RATE_LIMITED after too many wrong tokens.
func (p *Users) ResetPassword(ctx context.Context, token, password secrets.Value, from Browser) error {
	ctx = fromClient(ctx, from)
	user, err := p.bearer(ctx, token, models.LinkReset, from)
	if err != nil {
		return err
	}
	if problem := passwords.Problem(password, user.Email); problem != "" {
		return fault.Validation(map[string]string{"password": problem})
	}
	hash, err := p.passwords.Hash(ctx, passwords.NetworkQueue(from.IP), password)
	if err != nil {
		return fault.From(err)
	}
	return p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, user.ID, false)
		if fault.Is(err, fault.CodeNotFound) {
			return deadLink()
		}
		if err != nil {
			return err
		}
		if _, _, err := p.link(tx, token, models.LinkReset); err != nil {
			return err
		}
		if err := useLinks(tx, row.ID, models.LinkReset); err != nil {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", row.ID).Update("password_hash", hash).Error; err != nil {
			return err
		}
		if _, err := p.endSessions(tx, row.ID, ""); err != nil {
			return err
		}
		return p.audit.Record(actingAs(tx, &row, from.IP), entry("password.changed", &row, "by", "reset link"))
	})
}
