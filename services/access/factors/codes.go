package factors

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Recovery codes have 80 random bits, so that a plain hash protects them.
const (
	RecoveryCodes = 10 // of a user
	codeSize      = 10 // bytes
	codeGroup     = 4  // characters between dashes
	maxCode       = 64 // bytes of a typed code
)

// NewCodes replaces the recovery codes of a user, records it and returns the new
// ones. They can't be read again. It returns CONFLICT for a user without a
// factor.
func (s *Store) NewCodes(ctx context.Context, owner Person) (codes []string, err error) {
	err = s.change(ctx, owner, func(tx *gorm.DB) error {
		active, err := s.Active(tx, owner.ID)
		if err != nil {
			return err
		}
		if !active {
			return fault.Conflict("Add an authenticator app or a passkey first.")
		}
		codes, err = s.newCodes(tx, owner)
		return err
	})
	return codes, err
}

func (s *Store) newCodes(tx *gorm.DB, owner Person) ([]string, error) {
	if err := tx.Delete(&models.RecoveryCode{}, "user_id = ?", owner.ID).Error; err != nil {
		return nil, err
	}
	codes, rows, now := make([]string, RecoveryCodes), make([]models.RecoveryCode, RecoveryCodes), s.Now()
	for i := range codes {
		raw := make([]byte, codeSize)
		rand.Read(raw) // never fails
		plain := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
		rows[i] = models.RecoveryCode{UserID: owner.ID, Hash: hashOf(plain), CreatedAt: now}
		codes[i] = grouped(plain)
	}
	if err := tx.Create(&rows).Error; err != nil {
		return nil, err
	}
	return codes, s.record(tx, "factor.codes_created", owner, "codes", strconv.Itoa(RecoveryCodes))
}

// grouped returns a code with dashes.
func grouped(code string) string {
	var groups []string
	for ; len(code) > codeGroup; code = code[codeGroup:] {
		groups = append(groups, code[:codeGroup])
	}
	return strings.Join(append(groups, code), "-")
}

// checkRecovery accepts an unused recovery code of the user, once, and records
// that in the audit log.
func (s *Store) checkRecovery(tx *gorm.DB, userID, code string) error {
	done := tx.Model(&models.RecoveryCode{}).Where("user_id = ? AND hash = ? AND used_at IS NULL", userID, hashOf(code)).Update("used_at", s.Now())
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected == 0 {
		return wrongCode()
	}
	var user models.User
	if err := tx.Select("id", "email").First(&user, "id = ?", userID).Error; err != nil {
		return err
	}
	var left int64
	if err := tx.Model(&models.RecoveryCode{}).Where("user_id = ? AND used_at IS NULL", userID).Count(&left).Error; err != nil {
		return err
	}
	return s.record(tx, "factor.code_used", Person{user.ID, user.Email}, "left", strconv.FormatInt(left, 10))
}

// Code is a typed code: of an authenticator app if it has six digits, otherwise
// a recovery code. It implements access.Proof.
type Code struct {
	store    *Store
	text     string
	recovery bool
}

// Code returns the proof of a typed code.
func (s *Store) Code(text string) Code {
	text = digits(text[:min(len(text), maxCode)])
	if len(text) == 6 && strings.Trim(text, "0123456789") == "" {
		return Code{store: s, text: text}
	}
	return Code{store: s, text: strings.ToLower(strings.ReplaceAll(text, "-", "")), recovery: true}
}

// Recovery reports whether it is a recovery code.
func (c Code) Recovery() bool { return c.recovery }

// Method implements access.Proof.
func (c Code) Method() string {
	if c.recovery {
		return "recovery code"
	}
	return "code"
}

// Guessable implements access.Proof.
func (Code) Guessable() bool { return true }

// Check implements access.Proof.
func (c Code) Check(tx *gorm.DB, userID string) error {
	if c.recovery {
		return c.store.checkRecovery(tx, userID, c.text)
	}
	return c.store.checkApp(tx, userID, c.text)
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
