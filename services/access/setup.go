package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SetupLifetime is the lifetime of a setup token.
const SetupLifetime = time.Hour

// setupRow is the ID of the only row of models.Setup.
const setupRow = 1

// SetupForm holds the input of the first administrator.
type SetupForm struct {
	Token    secrets.Value
	Email    string
	Name     string
	Password secrets.Value
}

// SetupOpen reports whether there has never been an administrator.
func (p *Users) SetupOpen(ctx context.Context) (bool, error) {
	completed, err := setupOver(p.db.WithContext(ctx))
	return !completed, fromTransaction(err)
}

func setupOver(tx *gorm.DB) (bool, error) {
	err := tx.First(&models.Setup{}, "id = ?", setupRow).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	return err == nil, err
}

// endSetup permanently marks the setup as completed. first is true for the one
// writer that did so.
func endSetup(tx *gorm.DB, userID string, now time.Time) (first bool, err error) {
	result := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.Setup{ID: setupRow, UserID: userID, CompletedAt: now})
	if result.Error != nil || result.RowsAffected == 0 {
		return false, result.Error
	}
	return true, tx.Where("true").Delete(&models.SetupToken{}).Error
}

// NewSetupToken stores a new token for Setup, valid for SetupLifetime, and
// returns its text. Older tokens stay valid. It returns NOT_FOUND once the
// setup is completed.
func (p *Users) NewSetupToken(ctx context.Context) (secrets.Value, error) {
	raw := make([]byte, randomSize)
	rand.Read(raw) // never fails
	text := base64.RawURLEncoding.EncodeToString(raw)
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		completed, err := setupOver(tx)
		if err != nil {
			return err
		}
		if completed {
			return setupIsOver()
		}
		now := p.now()
		if err := tx.Delete(&models.SetupToken{}, "expires_at <= ?", now).Error; err != nil {
			return err
		}
		return tx.Create(&models.SetupToken{Hash: setupHash(text), CreatedAt: now, ExpiresAt: now.Add(SetupLifetime)}).Error
	})
	if err != nil {
		return secrets.Value{}, fault.From(err)
	}
	return secrets.NewValue(text), nil
}

// Setup creates the first administrator, signs them in and records both. One of
// several concurrent calls succeeds, and the setup is then permanently
// completed. It returns NOT_FOUND if it was already completed,
// VALIDATION_FAILED for an invalid token or field, and RATE_LIMITED after too
// many attempts from an address.
func (p *Users) Setup(ctx context.Context, form SetupForm, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	open, err := p.SetupOpen(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	if !open {
		return SignedIn{}, setupIsOver()
	}
	limit := attempts.OfAddress(from.IP)
	if _, err := p.attempts.Count(ctx, limit); err != nil {
		return SignedIn{}, err
	}
	if err := p.checkSetupToken(p.db.WithContext(ctx), form.Token); err != nil {
		return SignedIn{}, fault.From(err)
	}
	user, err := p.newAdmin(ctx, form, passwords.NetworkQueue(from.IP))
	if err != nil {
		return SignedIn{}, err
	}
	var in SignedIn
	err = p.change(ctx, func(tx *gorm.DB) error {
		// The token is checked again after the row of models.Setup is written.
		// Concurrent writers wait for that row.
		first, err := p.firstAdmin(tx, user.ID, form.Token)
		if err != nil {
			return err
		}
		if !first {
			return setupIsOver()
		}
		if err := tx.Create(&user).Error; err != nil {
			return taken(err)
		}
		if in, err = p.begin(tx, user, from, p.now()); err != nil {
			return err
		}
		if err := attempts.Reset(tx, limit); err != nil {
			return err
		}
		return p.audit.Record(actingAs(tx, &user, from.IP), entry("setup", &user))
	})
	if err != nil {
		return SignedIn{}, err
	}
	return in, nil
}

// newAdmin returns the validated row of the first administrator. A password is
// required.
func (p *Users) newAdmin(ctx context.Context, form SetupForm, queue passwords.Queue) (models.User, error) {
	if form.Password.IsZero() {
		return models.User{}, fault.Validation(map[string]string{"password": passwords.Problem(form.Password, form.Email)})
	}
	user, err := p.newUser(ctx, NewUser{Email: form.Email, Name: form.Name, Role: models.RoleAdmin, Password: form.Password}, queue)
	if err != nil {
		return models.User{}, err
	}
	user.LastLoginAt = &user.CreatedAt
	return user, nil
}

// firstAdmin checks the token and completes the setup. It returns the token's
// error only to the first writer, so that a second one always finds the setup
// completed.
func (p *Users) firstAdmin(tx *gorm.DB, userID string, token secrets.Value) (bool, error) {
	err := p.checkSetupToken(tx, token)
	first, endErr := endSetup(tx, userID, p.now())
	if endErr != nil || !first {
		return false, endErr
	}
	return true, err
}

// checkSetupToken returns VALIDATION_FAILED for an invalid token.
func (p *Users) checkSetupToken(tx *gorm.DB, token secrets.Value) error {
	err := tx.First(&models.SetupToken{}, "hash = ? AND expires_at > ?", setupHash(token.Reveal()), p.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		fields := map[string]string{}
		note(fields, "token", "This code is wrong or has expired. Find the code in the log, or create a new one with `gateway admin setup-link`.")
		return fault.Validation(fields)
	}
	return err
}

func setupHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func setupIsOver() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "Setup is complete: there is already an administrator.")
}
