package factors

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

const (
	appPurpose = "gateway authenticator app v1"
	secretSize = 20 // bytes (RFC 4226, section 4)
	step       = 30 * time.Second
	skew       = 1 // accepted steps before and after the current one (RFC 6238, section 5.2)
)

// AppSetup is a new authenticator app. Nothing is stored until AddApp.
type AppSetup struct {
	Secret secrets.Value // in base32, for typing
	State  string        // for AddApp
	Code   [][]bool      // modules of the QR code, by row; true is dark
}

// appState is the sealed content of AppSetup.State.
type appState struct {
	UserID, SessionID, Secret string
	Until                     time.Time
}

// NewApp returns a new authenticator app for a user's session.
func (s *Store) NewApp(owner Person, sessionID string) (AppSetup, error) {
	raw := make([]byte, secretSize)
	rand.Read(raw) // never fails
	secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw)
	plain, err := json.Marshal(appState{owner.ID, sessionID, secret, s.Now().Add(SetupTTL)})
	if err != nil {
		return AppSetup{}, fault.Internal(err)
	}
	return s.appSetup(owner, secret, s.Keys.SealToken(appPurpose, plain))
}

// ResumeApp returns the app of a state again, after a wrong code. It returns
// UNAUTHORIZED for an expired state or another session's.
func (s *Store) ResumeApp(owner Person, sessionID, state string) (AppSetup, error) {
	open, err := s.openApp(owner, sessionID, state)
	if err != nil {
		return AppSetup{}, err
	}
	return s.appSetup(owner, open.Secret, state)
}

func (s *Store) openApp(owner Person, sessionID, state string) (appState, error) {
	var open appState
	plain, err := s.Keys.OpenToken(appPurpose, state)
	if err != nil || json.Unmarshal(plain, &open) != nil || open.UserID != owner.ID || open.SessionID != sessionID || !s.Now().Before(open.Until) {
		return open, expired()
	}
	return open, nil
}

// appSetup returns the setup with its QR code, which has the address that
// authenticator apps read.
func (s *Store) appSetup(owner Person, secret, state string) (AppSetup, error) {
	issuer := s.PublicURL.Hostname()
	address := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + owner.Email, RawQuery: url.Values{"secret": {secret}, "issuer": {issuer}}.Encode()}
	code, err := qr.Encode(address.String(), qr.M, qr.Auto)
	if err != nil {
		return AppSetup{}, fault.Internal(err)
	}
	size := code.Bounds()
	modules := make([][]bool, size.Dy())
	for y := range modules {
		modules[y] = make([]bool, size.Dx())
		for x := range modules[y] {
			red, _, _, _ := code.At(x, y).RGBA()
			modules[y][x] = red == 0
		}
	}
	return AppSetup{Secret: secrets.NewValue(secret), State: state, Code: modules}, nil
}

// AddApp stores an authenticator app after a first code and records it. It
// returns the recovery codes if this is the user's first factor. It returns
// VALIDATION_FAILED for an invalid name or a wrong code, CONFLICT above
// MaxApps, and UNAUTHORIZED as ResumeApp does.
func (s *Store) AddApp(ctx context.Context, owner Person, sessionID, state, name, code string) ([]string, error) {
	open, err := s.openApp(owner, sessionID, state)
	if err != nil {
		return nil, err
	}
	name, err = cleanName(name)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	at, ok := matchingStep(open.Secret, digits(code), now)
	if !ok {
		return nil, fault.Validation(map[string]string{"code": "That code isn't right. Check the time of your phone and enter the code it shows now."})
	}
	row := models.AuthenticatorApp{ID: uuid.Must(uuid.NewV7()).String(), UserID: owner.ID, Name: name, LastStep: at, CreatedAt: now}
	if row.Secret, err = s.Keys.Seal(secrets.NewValue(open.Secret), AppRow(row.ID)); err != nil {
		return nil, err
	}
	var codes []string
	err = s.change(ctx, owner, func(tx *gorm.DB) error {
		if err := belowLimit(tx, &models.AuthenticatorApp{}, owner.ID, MaxApps); err != nil {
			return err
		}
		if err := consume(tx, hashOf(state), open.Until); err != nil {
			return err
		}
		codes, err = s.added(tx, owner, &row, "kind", string(KindApp), "name", name)
		return err
	})
	return codes, err
}

// added stores a factor and records it. It returns new recovery codes if this is
// the user's first factor.
func (s *Store) added(tx *gorm.DB, owner Person, row any, detail ...string) ([]string, error) {
	before, err := count(tx, owner.ID)
	if err != nil {
		return nil, err
	}
	if err := tx.Create(row).Error; err != nil {
		return nil, err
	}
	if err := s.record(tx, "factor.added", owner, detail...); err != nil || before > 0 {
		return nil, err
	}
	return s.newCodes(tx, owner)
}

// belowLimit returns CONFLICT if the user has the maximum number of rows.
func belowLimit(tx *gorm.DB, model any, userID string, limit int64) error {
	var n int64
	if err := tx.Model(model).Where("user_id = ?", userID).Count(&n).Error; err != nil {
		return err
	}
	if n >= limit {
		return fault.Conflict("You have %d already. Remove one first.", limit)
	}
	return nil
}

// AppRow identifies the sealed secret of an authenticator app, which is bound to
// it.
func AppRow(id string) string { return "authenticator_apps/" + id + "/secret" }

// checkApp accepts a code of one of the user's apps, once. Every app and step is
// compared in the same time.
func (s *Store) checkApp(tx *gorm.DB, userID, code string) error {
	var rows []models.AuthenticatorApp
	if err := tx.Order("id").Find(&rows, "user_id = ?", userID).Error; err != nil {
		return err
	}
	now, found, at := s.Now(), -1, int64(0)
	for i, row := range rows {
		secret, err := s.Keys.Open(row.Secret, AppRow(row.ID))
		if err != nil {
			return err
		}
		if matched, ok := matchingStep(secret.Reveal(), code, now); ok {
			found, at = i, matched
		}
	}
	if found < 0 {
		return wrongCode()
	}
	// The condition rejects a code that was used before, also concurrently.
	done := tx.Model(&models.AuthenticatorApp{}).Where("id = ? AND last_step < ?", rows[found].ID, at).Updates(map[string]any{"last_step": at, "used_at": now})
	if done.Error == nil && done.RowsAffected == 0 {
		return wrong("This code was already used. Wait for the next one.")
	}
	return done.Error
}

// matchingStep returns the step of a code near a time (RFC 6238). It compares
// all steps, in constant time.
func matchingStep(secret, code string, now time.Time) (at int64, ok bool) {
	matched := 0
	current := now.Unix() / int64(step/time.Second)
	for offset := int64(-skew); offset <= skew; offset++ {
		want, err := totp.GenerateCodeCustom(secret, time.Unix((current+offset)*int64(step/time.Second), 0), totp.ValidateOpts{Period: uint(step / time.Second), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false // a stored secret is always valid
		}
		if equal := subtle.ConstantTimeCompare([]byte(want), []byte(code)); equal == 1 {
			matched, at = 1, current+offset
		}
	}
	return at, matched == 1
}

// digits returns a typed code without the spaces that apps show.
func digits(code string) string { return strings.Join(strings.Fields(code), "") }

func wrongCode() error { return wrong("That code isn't right. Try again.") }
