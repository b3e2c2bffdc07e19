package access

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// ChangePassword changes the password of the session's user, ends their other
// sessions, renews the cookie value of this one and records the change. It
// returns UNAUTHORIZED without a live session, VALIDATION_FAILED for a wrong
// old password (field "old") or an invalid new one (field "password"), and
// RATE_LIMITED after too many wrong ones.
func (p *Users) ChangePassword(ctx context.Context, old, password secrets.Value, from Browser) (SignedIn, error) {
	session, user, err := p.liveSession(p.db.WithContext(ctx), from.Cookie)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	problem := passwords.Problem(password, user.Email)
	if problem == "" && password.Reveal() == old.Reveal() {
		problem = "Use a password that differs from the current one."
	}
	if problem != "" {
		return SignedIn{}, fault.Validation(map[string]string{"password": problem})
	}
	var hash string
	return p.reauthenticate(ctx, old, "old", from, func() (err error) {
		hash, err = p.passwords.Hash(ctx, passwords.SignedInQueue(session.ID), password)
		return err
	}, func(tx *gorm.DB, user *models.User, sessionID string) error {
		if err := tx.Model(&models.User{}).Where("id = ?", user.ID).Update("password_hash", hash).Error; err != nil {
			return err
		}
		if _, err := p.endSessions(tx, user.ID, sessionID); err != nil {
			return err
		}
		return p.audit.Record(tx, entry("password.changed", user, "by", "self"))
	})
}
