package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// InviteLifetime is the lifetime of an invite link.
const InviteLifetime = 72 * time.Hour

// Invitation is a user who was invited and has not joined.
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

// Invite adds a user without a password and returns the token of the invite
// link. The token isn't stored and can't be read again. It returns the same
// faults as Create.
func (p *Users) Invite(ctx context.Context, n NewUser) (user User, token secrets.Value, err error) {
	n.Password = secrets.Value{}
	user, err = p.create(ctx, n, func(tx *gorm.DB, row *models.User) error {
		token, err = p.putInvite(tx, row)
		return err
	})
	return user, token, err
}

// RenewInvite replaces the invite link of a user who has not joined and returns
// its token. It returns NOT_FOUND for an unknown user, and CONFLICT for a user
// who can already sign in or is blocked.
func (p *Users) RenewInvite(ctx context.Context, id string) (token secrets.Value, err error) {
	err = p.change(ctx, func(tx *gorm.DB) error {
		row, err := p.lockUser(tx, id, false)
		if err != nil {
			return err
		}
		if !invitable(&row) {
			return fault.Conflict("%s doesn't need an invite link.", row.Email)
		}
		token, err = p.putInvite(tx, &row)
		return err
	})
	return token, err
}

// invitable reports whether a user may get an invite link: one who was never
// able to sign in and is not blocked.
func invitable(row *models.User) bool {
	return row.PasswordHash == "" && row.OIDCSubject == "" && row.DisabledAt == nil
}

// putInvite stores the user's only invite, records it and returns its token.
func (p *Users) putInvite(tx *gorm.DB, row *models.User) (secrets.Value, error) {
	token, hash := secrets.Random()
	now := p.now()
	if err := endInvites(tx, row.ID); err != nil {
		return secrets.Value{}, err
	}
	if err := tx.Create(&models.Invite{Hash: hash, UserID: row.ID, CreatedAt: now, ExpiresAt: now.Add(InviteLifetime)}).Error; err != nil {
		return secrets.Value{}, err
	}
	return token, p.audit.Record(tx, entry("person.invited", row, "role", string(row.Role)))
}

// endInvites deletes the invite of a user.
func endInvites(tx *gorm.DB, userID string) error {
	return tx.Delete(&models.Invite{}, "user_id = ?", userID).Error
}

// PendingInvites returns the expiry of each valid invite by user ID.
func (p *Users) PendingInvites(ctx context.Context) (map[string]time.Time, error) {
	var rows []models.Invite
	if err := p.db.WithContext(ctx).Find(&rows, "expires_at > ?", p.now()).Error; err != nil {
		return nil, fault.Internal(err)
	}
	pending := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		pending[row.UserID] = row.ExpiresAt
	}
	return pending, nil
}

// Invitation returns the invitation of a token. It returns NOT_FOUND for an
// unknown, used or expired one and for a blocked user.
func (p *Users) Invitation(ctx context.Context, token secrets.Value) (Invitation, error) {
	row, user, err := p.invite(p.db.WithContext(ctx), token)
	if err != nil {
		return Invitation{}, fault.From(err)
	}
	return Invitation{User: p.personOf(&user, groups.View{}), ExpiresAt: row.ExpiresAt}, nil
}

func (p *Users) invite(tx *gorm.DB, token secrets.Value) (row models.Invite, user models.User, err error) {
	hash, ok := secrets.RandomHash(token.Reveal())
	if !ok {
		return row, user, noInvite()
	}
	err = tx.First(&row, "hash = ? AND expires_at > ?", hash, p.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, user, noInvite()
	}
	if err != nil {
		return row, user, err
	}
	user, err = userByID(tx, row.UserID)
	if fault.Is(err, fault.CodeNotFound) || err == nil && !invitable(&user) {
		return row, user, noInvite()
	}
	return row, user, err
}

// AcceptInvite sets the name and the password of an invited user, ends the
// invite, signs the user in and records it. One of several concurrent calls
// succeeds. It returns NOT_FOUND as Invitation does, and VALIDATION_FAILED for
// invalid fields.
func (p *Users) AcceptInvite(ctx context.Context, form InviteForm, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	_, user, err := p.invite(p.db.WithContext(ctx), form.Token)
	if err != nil {
		return SignedIn{}, fault.From(err)
	}
	changes, err := p.joining(ctx, user, form, passwords.NetworkQueue(from.IP))
	if err != nil {
		return SignedIn{}, err
	}
	return p.startSession(ctx, user, from, p.now(), "invite", func(tx *gorm.DB, now models.User) error {
		if _, _, err := p.invite(tx, form.Token); err != nil {
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

func noInvite() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "This invite link no longer works. Links work once, for 72 hours. Ask an administrator for a new one.")
}
