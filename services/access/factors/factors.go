// Package factors stores the second factors of users: authenticator apps,
// passkeys and recovery codes. It must not import services/access, which checks
// them at sign-in.
package factors

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/webauthn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// Limits of a user's factors.
const (
	MaxApps     = 2 // the app of a new phone is added before the old one is removed
	MaxPasskeys = 10
	MaxName     = 60 // characters

	// SetupTTL is the time to complete the setup of a factor, and to respond to
	// the challenge of a passkey.
	SetupTTL = 10 * time.Minute
)

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records a change in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Options configure a Store.
type Options struct {
	DB        *gorm.DB
	Audit     Auditor
	Feed      Publisher
	Keys      *secrets.KeyRing
	PublicURL *url.URL
	Require   Requirement
	Now       func() time.Time
}

// Store stores the factors of users. It implements access.Factors.
type Store struct {
	Options
	relying *webauthn.WebAuthn // nil if browsers allow no passkeys at the public URL
}

// New returns the Store of the database.
func New(o Options) *Store { return &Store{Options: o, relying: relyingParty(o.PublicURL)} }

// Person is the user who owns factors.
type Person struct {
	ID, Email string
}

// Kind is the kind of a factor.
type Kind string

// The kinds of factors.
const (
	KindApp     Kind = "app"
	KindPasskey Kind = "passkey"
)

// Factor is an authenticator app or a passkey.
type Factor struct {
	ID        string
	Kind      Kind
	Name      string
	CreatedAt time.Time
	UsedAt    *time.Time // nil if never
}

// Set holds the factors of a user.
type Set struct {
	Factors []Factor // apps first, then passkeys, oldest first
	Codes   int      // unused recovery codes
}

// Has reports whether the user has a factor of a kind.
func (s Set) Has(kind Kind) bool {
	for _, f := range s.Factors {
		if f.Kind == kind {
			return true
		}
	}
	return false
}

// Of returns the factors of a user.
func (s *Store) Of(ctx context.Context, userID string) (Set, error) {
	db := s.DB.WithContext(ctx)
	var apps []models.AuthenticatorApp
	var passkeys []models.Passkey
	var codes int64
	err := errors.Join(
		db.Order("created_at, id").Find(&apps, "user_id = ?", userID).Error,
		db.Order("created_at, id").Find(&passkeys, "user_id = ?", userID).Error,
		db.Model(&models.RecoveryCode{}).Where("user_id = ? AND used_at IS NULL", userID).Count(&codes).Error,
	)
	if err != nil {
		return Set{}, fault.Internal(err)
	}
	set := Set{Codes: int(codes)}
	for _, row := range apps {
		set.Factors = append(set.Factors, Factor{row.ID, KindApp, row.Name, row.CreatedAt, row.UsedAt})
	}
	for _, row := range passkeys {
		set.Factors = append(set.Factors, Factor{row.ID, KindPasskey, row.Name, row.CreatedAt, row.UsedAt})
	}
	return set, nil
}

// Owners returns the IDs of all users with a factor.
func (s *Store) Owners(ctx context.Context) (map[string]bool, error) {
	var ids []string
	err := s.DB.WithContext(ctx).Raw(`SELECT user_id FROM authenticator_apps UNION SELECT user_id FROM passkeys`).Scan(&ids).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	owners := make(map[string]bool, len(ids))
	for _, id := range ids {
		owners[id] = true
	}
	return owners, nil
}

// Active reports whether a sign-in of the user with a password requires a second
// factor. Recovery codes alone require none.
func (s *Store) Active(tx *gorm.DB, userID string) (bool, error) {
	n, err := count(tx, userID)
	return n > 0, err
}

// count returns the number of apps and passkeys of a user.
func count(tx *gorm.DB, userID string) (n int64, err error) {
	err = tx.Raw(`SELECT (SELECT count(*) FROM authenticator_apps WHERE user_id = ?) + (SELECT count(*) FROM passkeys WHERE user_id = ?)`, userID, userID).Scan(&n).Error
	return n, err
}

// RemoveAll deletes the factors and the recovery codes of a user and returns the
// number of factors. The caller records it.
func (s *Store) RemoveAll(tx *gorm.DB, userID string) (int64, error) {
	n, err := count(tx, userID)
	if err != nil {
		return 0, err
	}
	for _, model := range []any{&models.AuthenticatorApp{}, &models.Passkey{}, &models.RecoveryCode{}} {
		if err := tx.Delete(model, "user_id = ?", userID).Error; err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Rename changes the name of a factor of a user and records it. It returns
// NOT_FOUND and VALIDATION_FAILED.
func (s *Store) Rename(ctx context.Context, owner Person, id, name string) error {
	name, problem := cleanName(name)
	if problem != nil {
		return problem
	}
	return s.change(ctx, owner, func(tx *gorm.DB) error {
		model, kind, old, err := find(tx, owner.ID, id)
		if err != nil || old == name {
			return err
		}
		if err := tx.Model(model).Where("id = ?", id).Update("name", name).Error; err != nil {
			return err
		}
		return s.record(tx, "factor.renamed", owner, "kind", string(kind), "from", old, "to", name)
	})
}

// Remove deletes a factor of a user and records it. The last one also deletes the
// recovery codes. It returns NOT_FOUND, and CONFLICT for the last factor of a
// user who must have one.
func (s *Store) Remove(ctx context.Context, owner Person, required bool, id string) error {
	return s.change(ctx, owner, func(tx *gorm.DB) error {
		model, kind, name, err := find(tx, owner.ID, id)
		if err != nil {
			return err
		}
		if err := tx.Where("id = ?", id).Delete(model).Error; err != nil {
			return err
		}
		left, err := count(tx, owner.ID)
		if err != nil {
			return err
		}
		if left == 0 && required {
			return fault.Conflict("You must have a second factor. Add another one before you remove this one.")
		}
		if left == 0 {
			if err := tx.Delete(&models.RecoveryCode{}, "user_id = ?", owner.ID).Error; err != nil {
				return err
			}
		}
		return s.record(tx, "factor.removed", owner, "kind", string(kind), "name", name)
	})
}

// find returns the model, kind and name of a user's factor, or NOT_FOUND.
func find(tx *gorm.DB, userID, id string) (model any, kind Kind, name string, err error) {
	var app models.AuthenticatorApp
	found := tx.Limit(1).Find(&app, "id = ? AND user_id = ?", id, userID)
	if found.Error != nil || found.RowsAffected == 1 {
		return &models.AuthenticatorApp{}, KindApp, app.Name, found.Error
	}
	var passkey models.Passkey
	found = tx.Limit(1).Find(&passkey, "id = ? AND user_id = ?", id, userID)
	if found.Error == nil && found.RowsAffected == 0 {
		return nil, "", "", fault.NotFound("second factor", id)
	}
	return &models.Passkey{}, KindPasskey, passkey.Name, found.Error
}

// change runs write in a transaction that locks the owner, so that limits hold
// for concurrent changes, and publishes the users' topic.
func (s *Store) change(ctx context.Context, owner Person, write func(*gorm.DB) error) error {
	err := s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var row models.User
		err := tx.Clauses(models.LockRow(tx)...).Select("id").First(&row, "id = ?", owner.ID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("person", owner.ID)
		}
		if err != nil {
			return err
		}
		if err := write(tx); err != nil {
			return err
		}
		return notify.Touch(tx, notify.People())
	})
	if err != nil {
		return fault.From(err)
	}
	return s.Feed.Publish(ctx, notify.People())
}

// record records an action of the owner. more alternates names and values.
func (s *Store) record(tx *gorm.DB, action string, owner Person, more ...string) error {
	detail := map[string]string{}
	for i := 0; i+1 < len(more); i += 2 {
		detail[more[i]] = more[i+1]
	}
	return s.Audit.Record(tx, activity.Entry{Action: action, Object: owner.Email, ObjectID: owner.ID, Detail: detail})
}

// consume marks a challenge as used, for all replicas. It returns UNAUTHORIZED
// if it was used before.
func consume(tx *gorm.DB, hash []byte, until time.Time) error {
	done := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.SpentSignIn{Hash: hash, ExpiresAt: until})
	if done.Error == nil && done.RowsAffected == 0 {
		return expired()
	}
	return done.Error
}

// cleanName returns the name of a factor, or VALIDATION_FAILED.
func cleanName(name string) (string, error) {
	name = strings.TrimSpace(name)
	invalid := !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) })
	switch {
	case name == "":
		return "", fault.Validation(map[string]string{"name": "Enter a name."})
	case invalid || utf8.RuneCountInString(name) > MaxName:
		return "", fault.Validation(map[string]string{"name": "Use at most 60 printable characters."})
	}
	return name, nil
}

func wrong(message string) error {
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "%s", message)
}

func expired() error { return wrong("This page has expired. Try again.") }
