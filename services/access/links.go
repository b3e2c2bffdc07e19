package access

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// putLink replaces the only link of a user.
func (p *Users) putLink(tx *gorm.DB, row *models.User, purpose models.LinkPurpose, lifetime time.Duration) (Link, error) {
	if err := tx.Delete(&models.Invite{}, "user_id = ?", row.ID).Error; err != nil {
		return Link{}, err
	}
	token, hash := secrets.Random()
	link := models.Invite{Hash: hash, UserID: row.ID, Purpose: purpose, CreatedAt: p.now(), ExpiresAt: p.now().Add(lifetime)}
	return Link{Token: token, ExpiresAt: link.ExpiresAt}, tx.Create(&link).Error
}

// LinkMemory is the time for which an expired or used link is remembered, for the
// reason on its page.
const LinkMemory = 30 * 24 * time.Hour

// Causes of the NOT_FOUND fault of a link. Other links are unknown, or were replaced
// or withdrawn.
var (
	ErrLinkUsed    = errors.New("the link was used")
	ErrLinkExpired = errors.New("the link has expired")
)

// useLinks marks the link of a user with the purpose as used.
func useLinks(tx *gorm.DB, userID string, purpose models.LinkPurpose) error {
	return tx.Model(&models.Invite{}).Where("user_id = ? AND purpose = ?", userID, purpose).Update("purpose", models.LinkUsed).Error
}

// link returns the row and the user of a valid link. It returns NOT_FOUND for any
// other token, caused by ErrLinkUsed or ErrLinkExpired if that's the reason.
func (p *Users) link(tx *gorm.DB, token secrets.Value, purpose models.LinkPurpose) (row models.Invite, user models.User, err error) {
	hash, ok := secrets.RandomHash(token.Reveal())
	if !ok {
		return row, user, deadLink()
	}
	err = tx.First(&row, "hash = ? AND purpose IN ?", hash, []models.LinkPurpose{purpose, models.LinkUsed}).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, user, deadLink()
	case err != nil:
		return row, user, err
	case row.Purpose == models.LinkUsed:
		return row, user, usedLink()
	case !row.ExpiresAt.After(p.now()):
		return row, user, expiredLink()
	}
	user, err = userByID(tx, row.UserID)
	if fault.Is(err, fault.CodeNotFound) || err == nil && !mayUse(&user, purpose) {
		return row, user, deadLink()
	}
	return row, user, err
}

// mayUse reports whether links with the purpose work for a user.
func mayUse(row *models.User, purpose models.LinkPurpose) bool {
	if purpose == models.LinkReset {
		return resettable(row)
	}
	return invitable(row)
}

// linked returns the user of a link for its page.
func (p *Users) linked(ctx context.Context, token secrets.Value, purpose models.LinkPurpose) (Invitation, error) {
	row, user, err := p.link(p.db.WithContext(ctx), token, purpose)
	if err != nil {
		return Invitation{}, fault.From(err)
	}
	return Invitation{User: p.personOf(&user, groups.View{}), ExpiresAt: row.ExpiresAt}, nil
}

// bearer returns the user of a submitted link. It returns NOT_FOUND for a wrong
// one, and RATE_LIMITED after too many from an address.
func (p *Users) bearer(ctx context.Context, token secrets.Value, purpose models.LinkPurpose, from Browser) (models.User, error) {
	_, user, err := p.link(p.db.WithContext(ctx), token, purpose)
	if fault.Is(err, fault.CodeNotFound) {
		if _, limited := p.attempts.Count(ctx, attempts.OfAddress(from.IP)); limited != nil {
			return user, limited
		}
	}
	if err != nil {
		return user, fault.From(err)
	}
	return user, nil
}

// pendingLinks returns the expiry of each valid link with the purpose by user ID.
func (p *Users) pendingLinks(ctx context.Context, purpose models.LinkPurpose) (map[string]time.Time, error) {
	var rows []models.Invite
	if err := p.db.WithContext(ctx).Find(&rows, "purpose = ? AND expires_at > ?", purpose, p.now()).Error; err != nil {
		return nil, fault.Internal(err)
	}
	pending := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		pending[row.UserID] = row.ExpiresAt
	}
	return pending, nil
}

// countLink counts a new link of a user. It returns NOT_FOUND for an unknown user,
// and RATE_LIMITED after too many links.
func (p *Users) countLink(ctx context.Context, userID string) error {
	if _, err := userByID(p.db.WithContext(ctx), userID); err != nil {
		return fault.From(err)
	}
	_, err := p.attempts.Count(ctx, attempts.OfLinks(userID))
	if f := fault.From(err); err != nil && f.Code == fault.CodeRateLimited {
		limited := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many links for this person. Wait a few minutes and try again.")
		limited.RetryAfter = f.RetryAfter
		return limited
	}
	return err
}

func deadLink() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "This link doesn't work. Check that it's complete. If it was replaced by a newer one, use that, or ask an administrator for a new one.")
}

func usedLink() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "This link was already used. Links work once. Sign in, or ask an administrator for a new one.").Because(ErrLinkUsed)
}

func expiredLink() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "This link has expired. Invitations work for 72 hours, password resets for 1 hour. Ask an administrator for a new one.").Because(ErrLinkExpired)
}
