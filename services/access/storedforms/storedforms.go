// Package storedforms stores submitted forms until their users have signed in or
// confirmed the password.
package storedforms

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Limits of stored forms.
const (
	TTL     = 10 * time.Minute
	MaxBody = 1 << 20 // bytes, for forms that undo changes of many rows; guards store smaller ones
	MaxKept = 8       // of a user; another one replaces the oldest

	formPurpose = "kept form v1"
)

// Form is a submitted form that is stored until its user is authenticated.
type Form struct {
	Method      string `json:"method"`
	URL         string `json:"url"` // path and query
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
	Draft       bool   `json:"draft,omitempty"` // fills the page's form again instead of being sent
	Files       bool   `json:"files,omitempty"` // its files were left out and must be chosen again
}

// sealedForm is the sealed content of a stored form.
type sealedForm struct {
	Form
	UserID    string `json:"userId"`
	SessionID string `json:"sessionId"`
}

// Sessions are the browser sessions of users. Implemented by access.Users.
type Sessions interface {
	// IsLive reports whether the session with an id is live.
	IsLive(tx *gorm.DB, sessionID string) (bool, error)
}

// Sealer seals stored forms.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Store stores submitted forms until they can be processed. They are
// sealed, because forms contain secrets.
type Store struct {
	db       *gorm.DB
	sessions Sessions
	sealer   Sealer
	now      func() time.Time
}

// New returns the Store of the database.
func New(db *gorm.DB, sessions Sessions, sealer Sealer, now func() time.Time) *Store {
	return &Store{db: db, sessions: sessions, sealer: sealer, now: now}
}

// Keep stores a form that a user posted in a session and returns a token. Take
// accepts the token within TTL. Keep returns PAYLOAD_TOO_LARGE for
// a body over MaxBody.
func (k *Store) Keep(ctx context.Context, userID, sessionID string, form Form) (token string, err error) {
	if len(form.Body) > MaxBody {
		return "", fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The form is larger than %d bytes.", MaxBody)
	}
	plain, err := json.Marshal(sealedForm{form, userID, sessionID})
	if err != nil {
		return "", fault.Internal(err)
	}
	value, hash := secrets.Random()
	row := models.KeptForm{Hash: hash, UserID: userID, SessionID: sessionID, ExpiresAt: k.now().Add(TTL), Sealed: k.sealer.SealToken(formPurpose, plain)}
	err = k.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return tx.Delete(&models.KeptForm{}, `user_id = ? AND hash NOT IN (
			SELECT hash FROM kept_forms WHERE user_id = ? ORDER BY expires_at DESC, hash LIMIT ?)`, userID, userID, MaxKept).Error
	})
	if err != nil {
		return "", fault.Internal(err)
	}
	return value.Reveal(), nil
}

// Peek returns the form of a token and doesn't delete it. It returns NOT_FOUND
// in the same cases as Take.
func (k *Store) Peek(ctx context.Context, token, userID, sessionID string) (Form, error) {
	_, form, err := k.find(k.db.WithContext(ctx), token, userID, sessionID)
	return form, err
}

// Take returns the form of a token and deletes it, so that it is processed
// once. It returns NOT_FOUND for an unknown or expired token and for another
// user. It also does for another session while the session that posted the form
// is live.
func (k *Store) Take(ctx context.Context, token, userID, sessionID string) (Form, error) {
	var form Form
	err := k.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		row, found, err := k.find(tx, token, userID, sessionID)
		if err != nil {
			return err
		}
		deleted := tx.Delete(&models.KeptForm{}, "hash = ?", row.Hash)
		if deleted.Error == nil && deleted.RowsAffected != 1 {
			return noKeptForm()
		}
		form = found
		return deleted.Error
	})
	if err != nil {
		return Form{}, fault.From(err)
	}
	return form, nil
}

func (k *Store) find(tx *gorm.DB, token, userID, sessionID string) (models.KeptForm, Form, error) {
	var row models.KeptForm
	hash, ok := secrets.RandomHash(token)
	if !ok {
		return row, Form{}, noKeptForm()
	}
	err := tx.First(&row, "hash = ? AND user_id = ? AND expires_at > ?", hash, userID, k.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, Form{}, noKeptForm()
	}
	if err != nil {
		return row, Form{}, fault.Internal(err)
	}
	if row.SessionID != sessionID {
		live, err := k.sessions.IsLive(tx, row.SessionID)
		if err != nil {
			return row, Form{}, fault.Internal(err)
		}
		if live {
			return row, Form{}, noKeptForm()
		}
	}
	form, err := k.open(&row)
	return row, form, err
}

// open decrypts the form of a row. The sealed user and session must match the
// row.
func (k *Store) open(row *models.KeptForm) (Form, error) {
	plain, err := k.sealer.OpenToken(formPurpose, row.Sealed)
	if err != nil {
		return Form{}, noKeptForm() // the sealing key was removed
	}
	var form sealedForm
	if err := json.Unmarshal(plain, &form); err != nil {
		return Form{}, fault.Internal(err)
	}
	if form.UserID != row.UserID || form.SessionID != row.SessionID {
		return Form{}, noKeptForm()
	}
	return form.Form, nil
}

func noKeptForm() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "The form is no longer stored. Enter it again.")
}
