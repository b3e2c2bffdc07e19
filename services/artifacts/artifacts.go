// Package artifacts stores values of callers for a day: what code stores, and
// results that are too large. Only the caller who stored an artifact
// can read it.
package artifacts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
)

// Owner is the caller who stored artifacts: a principal at an endpoint of a
// project. The zero Owner owns nothing.
type Owner struct{ project, principal string }

// OwnerOf returns the owner for a caller. It returns FORBIDDEN for anonymous
// callers, because all of them would share their artifacts.
func OwnerOf(p access.Principal) (Owner, error) {
	if !p.IsValid() || p.IsAnonymous() {
		return Owner{}, fault.Forbidden("Storing values needs a key or a sign-in, because all callers of a project without access control would share them. Ask an administrator to require a key.")
	}
	return Owner{project: p.ProjectID(), principal: p.Caller()}, nil
}

// Artifact is a stored value.
type Artifact struct {
	Name      string
	Kind      models.ArtifactKind
	Data      []byte // JSON, or text in UTF-8
	ExpiresAt time.Time
}

// Store stores artifacts in the database, which all replicas share. It is safe
// for concurrent use.
type Store struct {
	db   *gorm.DB
	keys *secrets.KeyRing
	now  func() time.Time
}

// NewStore returns the artifacts in db, sealed with keys.
func NewStore(db *gorm.DB, keys *secrets.KeyRing, now func() time.Time) *Store {
	return &Store{db: db, keys: keys, now: now}
}

// CheckName returns INVALID_PARAMETER unless name has 1 to MaxName characters of
// A-Z, a-z, 0-9, dot, underscore and hyphen.
func CheckName(name string) error {
	valid := name != "" && len(name) <= MaxName
	for _, c := range []byte(name) {
		valid = valid && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	}
	if !valid {
		return fault.Invalid("The name of a stored value has 1 to %d characters of A-Z, a-z, 0-9, dot, underscore and hyphen.", MaxName)
	}
	return nil
}

// NameOf returns a name for data that has none: the same data has the same name.
func NameOf(prefix string, data []byte) string {
	sum := sha256.Sum256(data)
	return prefix + "-" + hex.EncodeToString(sum[:10])
}

// Put stores data under a name for Lifetime and returns when it expires. It
// replaces the owner's artifact with this name. When the project's artifacts
// would exceed their limits, the owner's oldest ones are deleted. It returns
// INVALID_PARAMETER for a wrong name or invalid JSON, PAYLOAD_TOO_LARGE for data
// over MaxBytes, and CONFLICT if the artifacts of others leave no room.
func (s *Store) Put(ctx context.Context, owner Owner, name string, kind models.ArtifactKind, data []byte) (expires time.Time, err error) {
	return s.put(ctx, owner, name, kind, data, MaxBytes)
}

// PutAnswer is Put for the result of a tool, which can have MaxAnswer bytes.
func (s *Store) PutAnswer(ctx context.Context, owner Owner, name string, kind models.ArtifactKind, data []byte) (expires time.Time, err error) {
	return s.put(ctx, owner, name, kind, data, MaxAnswer)
}

func (s *Store) put(ctx context.Context, owner Owner, name string, kind models.ArtifactKind, data []byte, most int) (expires time.Time, err error) {
	if err := CheckName(name); err != nil {
		return expires, err
	}
	switch {
	case owner == Owner{}:
		return expires, errors.New("artifact without owner")
	case len(data) > most:
		return expires, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The value has %d bytes; the maximum is %d. Store it in parts.", len(data), most)
	case kind == models.ArtifactJSON && rawjson.Valid(data, rawjson.Lenient) != nil:
		return expires, fault.Invalid("The value is not valid JSON.")
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	row := models.Artifact{
		ProjectID: owner.project, Principal: owner.principal, Name: name, Kind: kind, Bytes: int64(len(data)), CreatedAt: now, ExpiresAt: now.Add(Lifetime),
	}
	if row.Content, err = s.keys.Seal(secrets.NewValue(string(data)), sealRow(&row)); err != nil {
		return expires, err
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// The lock keeps the total exact when callers store at the same time.
		if err := tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.Project{}, "id = ?", owner.project).Error; err != nil {
			return err
		}
		if err := makeRoom(tx, &row); err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
	})
	if err != nil {
		return expires, fault.From(err)
	}
	return row.ExpiresAt, nil
}

// used is the total of a project's artifacts.
type used struct{ Bytes, Count int64 }

// makeRoom deletes the project's expired artifacts and, if the row wouldn't fit,
// the oldest ones of its owner.
func makeRoom(tx *gorm.DB, row *models.Artifact) error {
	if err := tx.Where("project_id = ? AND expires_at <= ?", row.ProjectID, row.CreatedAt).Delete(&models.Artifact{}).Error; err != nil {
		return err
	}
	others := tx.Model(&models.Artifact{}).Where("project_id = ? AND NOT (principal = ? AND name = ?)", row.ProjectID, row.Principal, row.Name).Session(&gorm.Session{})
	var total used
	if err := others.Select("COALESCE(SUM(bytes), 0) AS bytes, COUNT(*) AS count").Scan(&total).Error; err != nil {
		return err
	}
	tooMuch, tooMany := total.Bytes+row.Bytes-MaxProjectBytes, total.Count+1-MaxPerProject
	if tooMuch <= 0 && tooMany <= 0 {
		return nil
	}
	var oldest []models.Artifact
	if err := others.Omit("content").Where("principal = ?", row.Principal).Order("created_at, name").Find(&oldest).Error; err != nil {
		return err
	}
	for i := range oldest {
		if tooMuch <= 0 && tooMany <= 0 {
			break
		}
		if err := tx.Delete(&oldest[i]).Error; err != nil {
			return err
		}
		tooMuch, tooMany = tooMuch-oldest[i].Bytes, tooMany-1
	}
	if tooMuch > 0 || tooMany > 0 {
		return full(tx, row.ProjectID)
	}
	return nil
}

// full returns the fault for a project whose artifacts of others leave no room.
func full(tx *gorm.DB, projectID string) error {
	var next models.Artifact
	if err := tx.Omit("content").Where("project_id = ?", projectID).Order("expires_at").First(&next).Error; err != nil {
		return err
	}
	return fault.Conflict("The stored values of this project's callers fill %d MiB. Store less, or retry after %s, when the oldest one expires.", MaxProjectBytes>>20, next.ExpiresAt.UTC().Format(time.RFC3339))
}

// Get returns an artifact of the owner. It returns NOT_FOUND, in the same words,
// for one that is absent, expired or of another owner.
func (s *Store) Get(ctx context.Context, owner Owner, name string) (*Artifact, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	var row models.Artifact
	err := s.db.WithContext(ctx).First(&row, "project_id = ? AND principal = ? AND name = ? AND expires_at > ?", owner.project, owner.principal, name, s.now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "Nothing is stored for you as %s. Stored values expire after %d hours; store it or call its tool again.", name, int(Lifetime/time.Hour))
	}
	if err != nil {
		return nil, fault.Internal(err)
	}
	text, err := s.keys.Open(row.Content, sealRow(&row))
	if err != nil {
		return nil, err
	}
	return &Artifact{Name: name, Kind: row.Kind, Data: []byte(text.Reveal()), ExpiresAt: row.ExpiresAt}, nil
}

// Sweep deletes expired artifacts. It returns a database error as an INTERNAL
// fault.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.db.WithContext(ctx).Where("expires_at <= ?", s.now()).Delete(&models.Artifact{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// sealRow returns the row to which the content is bound. Names of principals may
// contain the separator, so a hash stands for the key.
func sealRow(row *models.Artifact) string {
	sum := sha256.Sum256([]byte(row.ProjectID + "\x00" + row.Principal + "\x00" + row.Name))
	return "artifacts/" + string(row.Kind) + "/" + hex.EncodeToString(sum[:])
}

// Reseal seals all artifacts with the active key, one at a time, and returns the
// number of resealed ones. Expired ones are deleted. It returns the faults of
// secrets.KeyRing.Reseal.
func (s *Store) Reseal(tx *gorm.DB) (resealed int, err error) {
	if err := tx.Where("expires_at <= ?", s.now()).Delete(&models.Artifact{}).Error; err != nil {
		return 0, err
	}
	var rows []models.Artifact
	if err := tx.Omit("content").Find(&rows).Error; err != nil {
		return 0, err
	}
	for i := range rows {
		row := &rows[i]
		if err := tx.Take(row).Error; err != nil {
			return resealed, err
		}
		sealed := row.Content
		if row.Content = ""; !s.keys.NeedsReseal(sealed) {
			continue
		}
		next, err := s.keys.Reseal(sealed, sealRow(row))
		if err != nil {
			return resealed, err
		}
		done := tx.Model(row).Where("content = ?", sealed).UpdateColumn("content", next)
		row.Content = ""
		if done.Error != nil {
			return resealed, done.Error
		}
		resealed += int(done.RowsAffected)
	}
	return resealed, nil
}
