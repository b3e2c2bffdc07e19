// Package requests stores what people request from the catalog, and the decisions
// of administrators.
package requests

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
)

// Limits of requests.
const (
	MaxText  = 500 // characters of a reason and of a reply
	maxOpen  = 20  // open requests of one user
	maxOwn   = 200 // listed requests of one user
	maxQueue = 500 // listed requests
)

// Catalog returns visible entries. Implemented by catalog.Catalog.
type Catalog interface {
	Entry(id string) (*models.CatalogEntry, error)
}

// Auditor records changes within their transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Store stores requests in the database.
type Store struct {
	db      *gorm.DB
	catalog Catalog
	audit   Auditor
	now     func() time.Time
}

// New returns the store of db.
func New(db *gorm.DB, catalog Catalog, audit Auditor, now func() time.Time) *Store {
	return &Store{db: db, catalog: catalog, audit: audit, now: now}
}

// NewRequest is a request of a user. Project is the one that needs the server, or nil.
type NewRequest struct {
	EntryID string
	UserID  string
	Project *models.Project
	Reason  string
}

// Add stores a request and audits it as catalog.requested. It returns NOT_FOUND for
// an unknown entry, VALIDATION_FAILED for a reason that is empty or too long, and
// CONFLICT if the user already has an open request for the entry and project, or
// too many open requests.
func (s *Store) Add(ctx context.Context, n NewRequest) (models.CatalogRequest, error) {
	entry, err := s.catalog.Entry(n.EntryID)
	if err != nil {
		return models.CatalogRequest{}, err
	}
	if entry.IsOwn() {
		return models.CatalogRequest{}, fault.Conflict("It's an endpoint of this gateway. Ask for access to its project.")
	}
	reason, err := text("reason", n.Reason)
	if err != nil {
		return models.CatalogRequest{}, err
	}
	if reason == "" {
		return models.CatalogRequest{}, fault.Validation(map[string]string{"reason": "say what it is needed for"})
	}
	row := models.CatalogRequest{
		ID: uuid.Must(uuid.NewV7()).String(), EntryID: entry.ID, EntryName: sources.FullName(entry), UserID: n.UserID,
		Reason: reason, State: models.RequestOpen, CreatedAt: s.now(),
	}
	slug := ""
	if n.Project != nil {
		row.ProjectID, slug = n.Project.ID, n.Project.Slug
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// The user's row serializes the user's requests, so that the limits hold.
		if err := tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.User{}, "id = ?", n.UserID).Error; err != nil {
			return err
		}
		var open []models.CatalogRequest
		if err := tx.Find(&open, "user_id = ? AND state = ?", n.UserID, models.RequestOpen).Error; err != nil {
			return err
		}
		for _, o := range open {
			if o.EntryID == row.EntryID && o.ProjectID == row.ProjectID {
				return fault.Conflict("You already requested %s. An administrator will decide.", row.EntryName)
			}
		}
		if len(open) >= maxOpen {
			return fault.Conflict("You have %d open requests, which is the maximum. Withdraw one first.", len(open))
		}
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		return s.audit.Record(tx, activity.Entry{
			Action: "catalog.requested", Object: row.EntryName, ObjectID: row.EntryID, Project: slug, Detail: map[string]string{"reason": row.Reason},
		})
	})
	if err != nil {
		return models.CatalogRequest{}, fault.From(err)
	}
	return row, nil
}

// text returns a cleaned text of a person, or VALIDATION_FAILED if it is too long.
func text(field, s string) (string, error) {
	if len([]rune(s)) > MaxText {
		return "", fault.Validation(map[string]string{field: "use at most 500 characters"})
	}
	return sources.Clean(s, MaxText), nil
}

// Queue returns the requests, open ones first in order of their time, then the
// newest decided ones.
func (s *Store) Queue(ctx context.Context) ([]models.CatalogRequest, error) {
	open, err := s.find(ctx, maxQueue, "created_at, id", "state = ?", models.RequestOpen)
	if err != nil {
		return nil, err
	}
	decided, err := s.find(ctx, maxQueue, "decided_at DESC, id", "state <> ?", models.RequestOpen)
	if err != nil {
		return nil, err
	}
	return append(open, decided...), nil
}

// Own returns the requests of a user, newest first.
func (s *Store) Own(ctx context.Context, userID string) ([]models.CatalogRequest, error) {
	return s.find(ctx, maxOwn, "created_at DESC, id", "user_id = ?", userID)
}

func (s *Store) find(ctx context.Context, limit int, order string, where ...any) ([]models.CatalogRequest, error) {
	var rows []models.CatalogRequest
	if err := s.db.WithContext(ctx).Order(order).Limit(limit).Find(&rows, where...).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Waiting returns the number of open requests and the names of the first ones.
func (s *Store) Waiting(ctx context.Context, names int) (int, []string, error) {
	var count int64
	open := s.db.WithContext(ctx).Model(&models.CatalogRequest{}).Where("state = ?", models.RequestOpen)
	if err := open.Count(&count).Error; err != nil || count == 0 {
		return 0, nil, err
	}
	rows, err := s.find(ctx, names, "created_at, id", "state = ?", models.RequestOpen)
	if err != nil {
		return 0, nil, err
	}
	first := make([]string, len(rows))
	for i, r := range rows {
		first[i] = r.EntryName
	}
	return int(count), first, nil
}

// Get returns a request, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, id string) (models.CatalogRequest, error) {
	return get(s.db.WithContext(ctx), id)
}

func get(tx *gorm.DB, id string) (models.CatalogRequest, error) {
	var row models.CatalogRequest
	err := tx.First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("request", sources.Clip(id, sources.MaxName))
	}
	return row, err
}

// Decision is a decision of the actor of the context. Target is the project or view
// to which the server was added, in words, and empty for a refusal.
type Decision struct {
	Answer string
	Target string
}

// Approve marks an open request as approved, after its server was added, and
// audits it. It returns NOT_FOUND, CONFLICT for a decided request and
// VALIDATION_FAILED for a reply that is too long.
func (s *Store) Approve(ctx context.Context, id string, d Decision) (models.CatalogRequest, error) {
	return s.decide(ctx, id, models.RequestApproved, "catalog.request_approved", d)
}

// Refuse marks an open request as refused, and audits it, with the errors of
// Approve. A reply is required.
func (s *Store) Refuse(ctx context.Context, id string, d Decision) (models.CatalogRequest, error) {
	if sources.Clean(d.Answer, MaxText) == "" {
		return models.CatalogRequest{}, fault.Validation(map[string]string{"answer": "say why, so that the person knows what to do"})
	}
	return s.decide(ctx, id, models.RequestRefused, "catalog.request_refused", d)
}

func (s *Store) decide(ctx context.Context, id string, state models.RequestState, action string, d Decision) (models.CatalogRequest, error) {
	answer, err := text("answer", d.Answer)
	if err != nil {
		return models.CatalogRequest{}, err
	}
	decider := ""
	if actor := activity.ActorOf(ctx); actor.Kind == activity.ActorUser {
		decider = actor.ID
	}
	var row models.CatalogRequest
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if row, err = get(tx.Clauses(models.LockRow(tx)...), id); err != nil {
			return err
		}
		if row.State != models.RequestOpen {
			return decided(&row)
		}
		at := s.now()
		row.State, row.Answer, row.DecidedBy, row.DecidedAt = state, answer, decider, &at
		if err := tx.Model(&row).Select("state", "answer", "decided_by", "decided_at").Updates(&row).Error; err != nil {
			return err
		}
		detail := map[string]string{"answer": answer, "target": d.Target}
		return s.audit.Record(tx, activity.Entry{Action: action, Object: row.EntryName, ObjectID: row.EntryID, Detail: detail})
	})
	if err != nil {
		return models.CatalogRequest{}, fault.From(err)
	}
	return row, nil
}

// CheckOpen returns CONFLICT if a request is decided.
func CheckOpen(row *models.CatalogRequest) error {
	if row.State != models.RequestOpen {
		return decided(row)
	}
	return nil
}

func decided(row *models.CatalogRequest) error {
	return fault.Conflict("This request is already %s.", row.State)
}

// Withdraw deletes an open request of a user. It returns NOT_FOUND for an unknown
// one or another user's, and CONFLICT for a decided one.
func (s *Store) Withdraw(ctx context.Context, userID, id string) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		row, err := get(tx.Clauses(models.LockRow(tx)...), id)
		if err != nil {
			return err
		}
		if row.UserID != userID {
			return fault.NotFound("request", sources.Clip(id, sources.MaxName))
		}
		if err := CheckOpen(&row); err != nil {
			return err
		}
		if err := tx.Delete(&row).Error; err != nil {
			return err
		}
		return s.audit.Record(tx, activity.Entry{Action: "catalog.request_withdrawn", Object: row.EntryName, ObjectID: row.EntryID})
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}
