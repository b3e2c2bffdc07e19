package access

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Limits of forms stored until their user has signed in or confirmed the
// password.
const (
	StoredFormTTL  = 10 * time.Minute
	MaxStoredForm  = 1 << 20 // bytes of a body, for forms that undo changes of many rows; guards store smaller ones
	MaxStoredForms = 8       // of a user; another one replaces the oldest

	keptFormPurpose = "kept form v1"
)

// StoredForm is a submitted form that is stored until its user is authenticated.
type StoredForm struct {
	Method      string `json:"method"`
	URL         string `json:"url"` // path and query
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
	Draft       bool   `json:"draft,omitempty"` // fills the page's form again instead of being sent
	Files       bool   `json:"files,omitempty"` // its files were left out and must be chosen again
}

// sealedForm is the sealed content of a stored form.
type sealedForm struct {
	StoredForm
	UserID    string `json:"userId"`
	SessionID string `json:"sessionId"`
}

// StoredForms stores submitted forms until they can be processed. They are
// sealed, because forms contain secrets.
type StoredForms struct {
	db     *gorm.DB
	people *Users
	sealer TokenSealer
	now    func() time.Time
}

// NewStoredForms returns the StoredForms of the database.
func NewStoredForms(db *gorm.DB, people *Users, sealer TokenSealer, now func() time.Time) *StoredForms {
	return &StoredForms{db: db, people: people, sealer: sealer, now: now}
}

// Keep stores a form that a user posted in a session and returns a token. Take
// accepts the token within StoredFormTTL. Keep returns PAYLOAD_TOO_LARGE for
// a body over MaxStoredForm.
func (k *StoredForms) Keep(ctx context.Context, userID, sessionID string, form StoredForm) (token string, err error) {
	if len(form.Body) > MaxStoredForm {
		return "", fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The form is larger than %d bytes.", MaxStoredForm)
	}
	plain, err := json.Marshal(sealedForm{form, userID, sessionID})
	if err != nil {
		return "", fault.Internal(err)
	}
	value, hash := newCookie()
	row := models.KeptForm{Hash: hash, UserID: userID, SessionID: sessionID, ExpiresAt: k.now().Add(StoredFormTTL), Sealed: k.sealer.SealToken(keptFormPurpose, plain)}
	err = k.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return tx.Delete(&models.KeptForm{}, `user_id = ? AND hash NOT IN (
			SELECT hash FROM kept_forms WHERE user_id = ? ORDER BY expires_at DESC, hash LIMIT ?)`, userID, userID, MaxStoredForms).Error
	})
	if err != nil {
		return "", fault.Internal(err)
	}
	return value.Reveal(), nil
}

// Peek returns the form of a token and doesn't delete it. It returns NOT_FOUND
// in the same cases as Take.
func (k *StoredForms) Peek(ctx context.Context, token, userID, sessionID string) (StoredForm, error) {
	_, form, err := k.find(k.db.WithContext(ctx), token, userID, sessionID)
	return form, err
}

// Take returns the form of a token and deletes it, so that it is processed
// once. It returns NOT_FOUND for an unknown or expired token and for another
// user. It also does for another session while the session that posted the form
// is live.
func (k *StoredForms) Take(ctx context.Context, token, userID, sessionID string) (StoredForm, error) {
	var form StoredForm
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
	return form, fromTransaction(err)
}

func (k *StoredForms) find(tx *gorm.DB, token, userID, sessionID string) (models.KeptForm, StoredForm, error) {
	var row models.KeptForm
	hash, ok := sessionHash(token)
	if !ok {
		return row, StoredForm{}, noKeptForm()
	}
	err := tx.First(&row, "hash = ? AND user_id = ? AND expires_at > ?", hash, userID, k.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, StoredForm{}, noKeptForm()
	}
	if err != nil {
		return row, StoredForm{}, fault.Internal(err)
	}
	if row.SessionID != sessionID {
		live, err := k.people.isLive(tx, row.SessionID)
		if err != nil {
			return row, StoredForm{}, fault.Internal(err)
		}
		if live {
			return row, StoredForm{}, noKeptForm()
		}
	}
	form, err := k.open(&row)
	return row, form, err
}

// open decrypts the form of a row. The sealed user and session must match the
// row.
func (k *StoredForms) open(row *models.KeptForm) (StoredForm, error) {
	plain, err := k.sealer.OpenToken(keptFormPurpose, row.Sealed)
	if err != nil {
		return StoredForm{}, noKeptForm() // the sealing key was removed
	}
	var form sealedForm
	if err := json.Unmarshal(plain, &form); err != nil {
		return StoredForm{}, fault.Internal(err)
	}
	if form.UserID != row.UserID || form.SessionID != row.SessionID {
		return StoredForm{}, noKeptForm()
	}
	return form.StoredForm, nil
}

// isLive reports whether the session with an id is live.
func (p *Users) isLive(tx *gorm.DB, sessionID string) (bool, error) {
	var row models.BrowserSession
	found := tx.Limit(1).Find(&row, "id = ?", sessionID)
	return found.RowsAffected == 1 && p.live(&row), found.Error
}

func noKeptForm() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "The form is no longer stored. Enter it again.")
}
