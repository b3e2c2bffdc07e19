package access

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// InviteLifetime is the lifetime of an invite link.
const InviteLifetime = 72 * time.Hour

// Link is a link that was created. Its token isn't stored and can't be read
// again.
type Link struct {
	Token     secrets.Value
	ExpiresAt time.Time
}

// Invitation is the user of a valid link.
type Invitation struct {
	User      User
	ExpiresAt time.Time
}

// InviteForm holds the input of an invited user.
type InviteForm struct {
	Token    secrets.Value
	Name     string
	Password secrets.Value
}

// Invite adds a user without a password and returns the invite link. It returns
// the same faults as Create.
func (p *Users) Invite(ctx context.Context, n NewUser) (user User, link Link, err error) {
	n.Password = secrets.Value{}
	user, err = p.create(ctx, n, func(tx *gorm.DB, row *models.User) error {
		link, err = p.putInvite(tx, row)
		return err
	})
	return user, link, err
}

// RenewInvite replaces the invite link of a user who has not joined. It returns
// NOT_FOUND for an unknown user, CONFLICT for a user who can already sign in or
// is blocked, and RATE_LIMITED after too many links of the user.
func (p *Users) RenewInvite(ctx context.Context, id string) (link Link, err error) {
	if err := p.countLink(ctx, id); err != nil {
		return Link{}, err
	}
	err = p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		if err != nil {
			return err
		}
		if !invitable(&row) {
			return fault.Conflict("%s doesn't need an invite link.", row.Email)
		}
		link, err = p.putInvite(tx, &row)
		return err
	})
	return link, err
}

// invitable reports whether a user may get an invite link: one who was never
// able to sign in and is not blocked.
func invitable(row *models.User) bool {
	return row.PasswordHash == "" && row.OIDCSubject == "" && row.DisabledAt == nil
}

// putInvite stores the invite link of a user and records it.
func (p *Users) putInvite(tx *gorm.DB, row *models.User) (Link, error) {
	link, err := p.putLink(tx, row, models.LinkJoin, InviteLifetime)
	if err != nil {
		return Link{}, err
	}
	return link, p.audit.Record(tx, entry("person.invited", row, "role", string(row.Role)))
}

// PendingInvites returns the expiry of each valid invite by user ID.
func (p *Users) PendingInvites(ctx context.Context) (map[string]time.Time, error) {
	return p.pendingLinks(ctx, models.LinkJoin)
}

// Invitation returns the invitation of a token. It returns NOT_FOUND for an
// unknown, used or expired one and for a blocked user.
func (p *Users) Invitation(ctx context.Context, token secrets.Value) (Invitation, error) {
	return p.linked(ctx, token, models.LinkJoin)
}

// AcceptInvite sets the name and the password of an invited user, ends the
// invite, signs the user in and records it. One of several concurrent calls
// succeeds. It returns NOT_FOUND as Invitation does, VALIDATION_FAILED for
// invalid fields, and RATE_LIMITED after too many wrong tokens.
func (p *Users) AcceptInvite(ctx context.Context, form InviteForm, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	user, err := p.bearer(ctx, form.Token, models.LinkJoin, from)
	if err != nil {
		return SignedIn{}, err
	}
	changes, err := p.joining(ctx, user, form, passwords.NetworkQueue(from.IP))
	if err != nil {
		return SignedIn{}, err
	}
	return p.startSession(ctx, user, from, p.now(), "invite", func(tx *gorm.DB, now models.User) error {
		if _, _, err := p.link(tx, form.Token, models.LinkJoin); err != nil {
			return err
		}
		if err := tx.Model(&models.User{}).Where("id = ?", now.ID).Updates(changes).Error; err != nil {
			return err
		}
		return p.audit.Record(actingAs(tx, &now, from.IP), entry("person.joined", &now))
	})
}

// joining returns the columns that an invited user sets.
func (p *Users) joining(ctx context.Context, user models.User, form InviteForm, queue passwords.Queue) (map[string]any, error) {
	name, fields := strings.TrimSpace(form.Name), map[string]string{}
	note(fields, "name", nameProblem(name))
	note(fields, "password", passwords.Problem(form.Password, user.Email))
	if len(fields) > 0 {
		return nil, fault.Validation(fields)
	}
	hash, err := p.passwords.Hash(ctx, queue, form.Password)
	if err != nil {
		return nil, fault.From(err)
	}
	changes := map[string]any{"password_hash": hash}
	if name != "" {
		changes["name"] = name
	}
	return changes, nil
}
