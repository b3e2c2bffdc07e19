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
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SetupLifetime is how long a setup token works.
const SetupLifetime = time.Hour

// setupRow is the id of the only row of models.Setup.
const setupRow = 1

// SetupForm is what the first administrator enters.
type SetupForm struct {
	Token    secrets.Value
	Email    string
	Name     string
	Password secrets.Value
}

// SetupOpen reports whether there is no administrator yet.
func (p *People) SetupOpen(ctx context.Context) (bool, error) {
	over, err := setupOver(p.db.WithContext(ctx))
	return !over, fromTransaction(err)
}

func setupOver(tx *gorm.DB) (bool, error) {
	err := tx.First(&models.Setup{}, "id = ?", setupRow).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	return err == nil, err
}

// endSetup marks the setup as over for good; first is true for the one writer
// who did.
func endSetup(tx *gorm.DB, userID string, now time.Time) (first bool, err error) {
	result := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.Setup{ID: setupRow, UserID: userID, CompletedAt: now})
	if result.Error != nil || result.RowsAffected == 0 {
		return false, result.Error
	}
	return true, tx.Where("true").Delete(&models.SetupToken{}).Error
}

// NewSetupToken stores a new token for Setup, which works for SetupLifetime,
// and returns its text. Older ones go on working. It returns NOT_FOUND once
// there was an administrator.
func (p *People) NewSetupToken(ctx context.Context) (secrets.Value, error) {
	raw := make([]byte, sessionSize)
	rand.Read(raw) // never fails
	text := base64.RawURLEncoding.EncodeToString(raw)
	err := p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		over, err := setupOver(tx)
		if err != nil {
			return err
		}
		if over {
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

// Setup creates the first administrator, signs them in and records both. Of
// several at once one succeeds; from then on the setup is over for good. It
// returns NOT_FOUND when it is, VALIDATION_FAILED for an unusable field, the
// token among them, and RATE_LIMITED after too many attempts from an address.
func (p *People) Setup(ctx context.Context, form SetupForm, from Browser) (SignedIn, error) {
	ctx = fromClient(ctx, from)
	open, err := p.SetupOpen(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	if !open {
		return SignedIn{}, setupIsOver()
	}
	limit := addressLimit(from.IP)
	if _, err := p.countLogins(ctx, limit); err != nil {
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
		// The token is checked once more after the row that decides: whoever
		// comes second waits there for the first.
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
		if err := forgiveLogins(tx, limit); err != nil {
			return err
		}
		return p.audit.Record(actingAs(tx, &user, from.IP), entry("setup", &user))
	})
	if err != nil {
		return SignedIn{}, err
	}
	return in, nil
}

// newAdmin returns the checked row of the first administrator, who must have a
// password.
func (p *People) newAdmin(ctx context.Context, form SetupForm, queue passwords.Queue) (models.User, error) {
	if form.Password.IsZero() {
		return models.User{}, fault.Validation(map[string]string{"password": passwords.Problem(form.Password, form.Email)})
	}
	user, err := p.newUser(ctx, NewPerson{Email: form.Email, Name: form.Name, Role: models.RoleAdmin, Password: form.Password}, queue)
	if err != nil {
		return models.User{}, err
	}
	user.LastLoginAt = &user.CreatedAt
	return user, nil
}

// firstAdmin checks the token and ends the setup, in the order that lets no
// second writer pass.
func (p *People) firstAdmin(tx *gorm.DB, userID string, token secrets.Value) (bool, error) {
	err := p.checkSetupToken(tx, token)
	first, endErr := endSetup(tx, userID, p.now())
	if endErr != nil || !first {
		return false, endErr
	}
	return true, err
}

// checkSetupToken returns VALIDATION_FAILED for a token that does not work.
func (p *People) checkSetupToken(tx *gorm.DB, token secrets.Value) error {
	err := tx.First(&models.SetupToken{}, "hash = ? AND expires_at > ?", setupHash(token.Reveal()), p.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		fields := map[string]string{}
		note(fields, "token", "this code is wrong or too old: the log has the code, and `gateway admin setup-link` makes another")
		return fault.Validation(fields)
	}
	return err
}

func setupHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func setupIsOver() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "the setup is over: there is an administrator already")
}
