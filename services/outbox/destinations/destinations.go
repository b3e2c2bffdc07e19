// Package destinations stores where events are delivered.
package destinations

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// Limits of destinations.
const (
	MaxDestinations = 50
	MaxName         = 100  // characters
	MaxHeader       = 4096 // bytes of the header of an OTLP destination

	// RotationTime is the time during which a replaced secret also signs.
	RotationTime = 24 * time.Hour
)

// FileID is the ID of the destination of GATEWAY_OUTBOX_FILE.
const FileID = "file"

// Auditor records changes within their transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Sealer encrypts what is stored. Implemented by secrets.KeyRing.
type Sealer interface {
	Seal(v secrets.Value, row string) (string, error)
	Open(sealed, row string) (secrets.Value, error)
}

// Options are the dependencies of a store. CheckURL returns a fault for an address that
// can't be a destination.
type Options struct {
	DB       *gorm.DB
	Audit    Auditor
	Keys     Sealer
	CheckURL func(string) error
	Now      func() time.Time
}

// Store stores destinations in the database.
type Store struct{ Options }

// NewStore returns the store.
func NewStore(o Options) *Store { return &Store{o} }

// AddressRow and the others are the rows that sealed columns are bound to.
func AddressRow(id string) string { return "destinations/" + id + "/address" }

// SecretRow is the row of a secret.
func SecretRow(id string) string { return "destinations/" + id + "/secret" }

// FormerSecretRow is the row of a replaced secret.
func FormerSecretRow(id string) string { return "destinations/" + id + "/former_secret" }

// New is a new destination. Without a Secret, a webhook gets a random one.
type New struct {
	Name    string
	Kind    models.DestinationKind
	Address secrets.Value
	Secret  secrets.Value
	Filter  string
}

// Create stores an active destination and audits it as destination.created, the
// first event that it receives. It returns the secret of a webhook, which is not
// shown again. Faults: VALIDATION_FAILED with the fields, those of the filter,
// and CONFLICT for a name in use or too many destinations.
func (s *Store) Create(ctx context.Context, n New) (models.Destination, secrets.Value, error) {
	if n.Kind == models.DestinationWebhook && n.Secret.IsZero() {
		n.Secret = signing.New()
	}
	row := models.Destination{
		ID: uuid.Must(uuid.NewV7()).String(), Name: strings.TrimSpace(n.Name), Kind: n.Kind, Filter: strings.TrimSpace(n.Filter), Active: true,
		CreatedAt: s.Now(), UpdatedAt: s.Now(),
	}
	if err := s.check(&row, n.Address, n.Secret); err != nil {
		return row, secrets.Value{}, err
	}
	err := s.seal(&row, n.Address, n.Secret)
	if err != nil {
		return row, secrets.Value{}, err
	}
	err = s.change(ctx, func(tx *gorm.DB) error {
		var count int64
		if err := tx.Model(&models.Destination{}).Count(&count).Error; err != nil {
			return err
		}
		if count >= MaxDestinations {
			return fault.Conflict("There are %d destinations, which is the maximum. Delete one first.", count)
		}
		if err := checkName(tx, &row); err != nil {
			return err
		}
		if row.Position, err = outbox.Last(tx); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.created", &row, map[string]string{"kind": string(row.Kind), "address": Shown(n.Address), "filter": row.Filter})
	})
	if n.Kind != models.DestinationWebhook {
		n.Secret = secrets.Value{} // the caller entered it
	}
	return row, n.Secret, err
}

// seal sets the sealed columns.
func (s *Store) seal(row *models.Destination, address, secret secrets.Value) (err error) {
	if row.Address, err = s.Keys.Seal(address, AddressRow(row.ID)); err != nil || secret.IsZero() {
		return err
	}
	row.Secret, err = s.Keys.Seal(secret, SecretRow(row.ID))
	return err
}

// change runs a transaction that excludes writers of events, so that positions
// can be set.
func (s *Store) change(ctx context.Context, do func(tx *gorm.DB) error) error {
	err := s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := outbox.Lock(tx); err != nil {
			return err
		}
		return do(tx)
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

func (s *Store) record(tx *gorm.DB, action string, row *models.Destination, detail map[string]string) error {
	return s.Audit.Record(tx, activity.Entry{Action: action, Object: row.Name, ObjectID: row.ID, Detail: detail})
}

// All returns the destinations by name.
func (s *Store) All(ctx context.Context) ([]models.Destination, error) {
	var rows []models.Destination
	if err := s.DB.WithContext(ctx).Order("lower(name), id").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns a destination, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, id string) (models.Destination, error) {
	row, err := get(s.DB.WithContext(ctx), id)
	if err != nil {
		return row, fault.From(err)
	}
	return row, nil
}

func get(tx *gorm.DB, id string) (models.Destination, error) {
	var row models.Destination
	err := tx.First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("destination", clip(id))
	}
	return row, err
}

func clip(id string) string {
	if r := []rune(id); len(r) > MaxName {
		return string(r[:MaxName]) + "…"
	}
	return id
}

// Delete removes a destination with its dead letters and audits it. It returns
// NOT_FOUND, and CONFLICT for the file of the operator.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.change(ctx, func(tx *gorm.DB) error {
		row, err := s.own(tx, id)
		if err != nil {
			return err
		}
		if err := tx.Delete(&models.DeadLetter{}, "destination_id = ?", id).Error; err != nil {
			return err
		}
		if err := tx.Delete(&models.Destination{}, "id = ?", id).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.deleted", &row, nil)
	})
}

// own returns a destination that the administrator may change.
func (s *Store) own(tx *gorm.DB, id string) (models.Destination, error) {
	row, err := get(tx, id)
	if err == nil && row.Kind == models.DestinationFile {
		err = fault.Conflict("The file is set with GATEWAY_OUTBOX_FILE. Change that setting instead.")
	}
	return row, err
}
