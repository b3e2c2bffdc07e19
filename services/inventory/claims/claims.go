// Package claims stores which server of a project was the first to show a URI,
// a URI template or a skill. Claims are stored by alias: they outlive outages,
// and the server itself.
package claims

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset/addresses"
)

const (
	// refreshAfter is the maximum age of the stored time at which a claim was
	// last shown.
	refreshAfter = 24 * time.Hour
	// keepFor is the time for which a claim remains after no server shows it.
	keepFor = 30 * 24 * time.Hour
	// startTime is the time after Start in which servers that were never synced
	// claim in the order of their aliases, whichever sync ends first.
	startTime = 2 * time.Minute
	// rowsPerStatement is the maximum number of rows of one statement.
	rowsPerStatement = 200
)

// Store stores the claims of all projects. It is safe for concurrent use.
type Store struct {
	db  *gorm.DB
	now func() time.Time

	mu      sync.Mutex
	started time.Time        // zero before Start
	newest  map[string]int64 // by project; newest position at the start
}

// New returns the store of a database.
func New(db *gorm.DB, now func() time.Time) *Store { return &Store{db: db, now: now} }

// Left returns a warning for each text of a server that clients can't be shown:
// it overlaps with an older claim of another server and can't be qualified.
func (s *Store) Left(tx *gorm.DB, server *models.Server, shown []addresses.Text) (warnings []string, err error) {
	var book *addresses.Book
	for _, t := range shown {
		if _, ok := addresses.Qualify(server.Alias, t.Text); ok {
			continue
		}
		if book == nil {
			if book, err = s.bookWith(tx, server, shown); err != nil {
				return nil, err
			}
		}
		if _, ok := book.Listed(server.Alias, t.Kind, t.Text); !ok {
			warnings = append(warnings, fmt.Sprintf("%s %.100q was omitted: another server showed an overlapping one first, and without a scheme it can't be distinguished", nameOf(t.Kind), t.Text))
		}
	}
	return warnings, nil
}

func nameOf(kind models.ClaimKind) string {
	switch kind {
	case models.ClaimTemplate:
		return "resource template"
	case models.ClaimPrefix:
		return "skill"
	}
	return "resource"
}

// bookWith returns the addresses of the server's project after it has claimed
// the texts.
func (s *Store) bookWith(tx *gorm.DB, server *models.Server, shown []addresses.Text) (*addresses.Book, error) {
	var rows []models.AddressClaim
	if err := tx.Find(&rows, "project_id = ?", server.ProjectID).Error; err != nil {
		return nil, err
	}
	newest := int64(0)
	own := map[addresses.Text]bool{}
	for _, row := range rows {
		newest = max(newest, row.Position)
		if row.Alias == server.AliasFold {
			own[addresses.Text{Kind: row.Kind, Text: row.Text}] = true
		}
	}
	for _, t := range shown {
		if !own[t] && len(rows) < addresses.MaxClaims {
			rows = append(rows, models.AddressClaim{Alias: server.AliasFold, Kind: t.Kind, Text: t.Text, Position: newest + 1})
		}
	}
	return addresses.New(rows, nil), nil
}

// Add claims the texts that a server shows and that it did not claim before, in
// the transaction of its sync, up to the maximum of the project. It reports
// whether it added any. Then it has also touched the inventory of the server.
func (s *Store) Add(tx *gorm.DB, server *models.Server, shown []addresses.Text) (added bool, err error) {
	var own []models.AddressClaim
	if err := tx.Select("kind", "text_hash", "shown_at").Find(&own, "project_id = ? AND alias = ?", server.ProjectID, server.AliasFold).Error; err != nil {
		return false, err
	}
	at := make(map[rowKey]time.Time, len(own))
	for _, row := range own {
		at[rowKey{row.Kind, [sha256.Size]byte(row.TextHash)}] = row.ShownAt
	}
	var missing []addresses.Text
	stale := map[models.ClaimKind][][]byte{}
	for _, t := range shown {
		hash := sha256.Sum256([]byte(t.Text))
		switch shownAt, known := at[rowKey{t.Kind, hash}]; {
		case !known:
			missing = append(missing, t)
		case s.now().Sub(shownAt) > refreshAfter:
			stale[t.Kind] = append(stale[t.Kind], hash[:])
		}
	}
	if err := s.refresh(tx, server, stale); err != nil || len(missing) == 0 {
		return false, err
	}
	return s.insert(tx, server, missing, len(own) == 0)
}

type rowKey struct {
	kind models.ClaimKind
	hash [sha256.Size]byte
}

// refresh stores that a server shows texts now.
func (s *Store) refresh(tx *gorm.DB, server *models.Server, stale map[models.ClaimKind][][]byte) error {
	for kind, hashes := range stale {
		for len(hashes) > 0 {
			n := min(len(hashes), rowsPerStatement)
			err := tx.Model(&models.AddressClaim{}).Where("project_id = ? AND alias = ? AND kind = ? AND text_hash IN ?", server.ProjectID, server.AliasFold, kind, hashes[:n]).
				Update("shown_at", s.now()).Error
			if err != nil {
				return err
			}
			hashes = hashes[n:]
		}
	}
	return nil
}

// insert adds claims of a server. first reports whether it has none yet.
func (s *Store) insert(tx *gorm.DB, server *models.Server, texts []addresses.Text, first bool) (bool, error) {
	var project struct{ Claims, Newest int64 }
	read := func() error {
		return tx.Model(&models.AddressClaim{}).Where("project_id = ?", server.ProjectID).Select("COUNT(*) AS claims, COALESCE(MAX(position), 0) AS newest").Scan(&project).Error
	}
	if err := read(); err != nil || project.Claims >= addresses.MaxClaims {
		return false, err
	}
	// This locks the project's revision, so that transactions claim one after
	// another.
	if err := notify.TouchInventory(tx, server.ProjectID, server.ID); err != nil {
		return false, err
	}
	if err := read(); err != nil {
		return false, err
	}
	texts = texts[:min(len(texts), max(0, addresses.MaxClaims-int(project.Claims)))]
	return true, create(tx, rowsOf(server, texts, s.position(server, project.Newest, first), s.now()))
}

// position returns the position of new claims of a server. first reports whether
// they are its first.
func (s *Store) position(server *models.Server, newest int64, first bool) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	start := s.newest[server.ProjectID] + 1
	if first && server.CreatedAt.Before(s.started) && s.now().Sub(s.started) < startTime && newest <= start {
		return start
	}
	return newest + 1
}

func rowsOf(server *models.Server, texts []addresses.Text, position int64, at time.Time) []models.AddressClaim {
	rows := make([]models.AddressClaim, len(texts))
	for i, t := range texts {
		hash := sha256.Sum256([]byte(t.Text))
		rows[i] = models.AddressClaim{ProjectID: server.ProjectID, Alias: server.AliasFold, Kind: t.Kind, TextHash: hash[:], Text: t.Text, Position: position, ShownAt: at}
	}
	return rows
}

func create(tx *gorm.DB, rows []models.AddressClaim) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(rows, rowsPerStatement).Error
}

// Sweep deletes the claims that no server has shown for 30 days. Those of a
// server whose last successful sync was before that time remain, because its
// lists are still shown.
func (s *Store) Sweep(ctx context.Context) error {
	cutoff := s.now().Add(-keepFor - refreshAfter) // shown_at can be a day too old
	expired := func(db *gorm.DB) *gorm.DB {
		outage := db.Session(&gorm.Session{NewDB: true}).Model(&models.Server{}).Select("1").
			Joins("JOIN inventories ON inventories.server_id = servers.id").
			Where("servers.project_id = address_claims.project_id AND servers.alias_fold = address_claims.alias AND servers.enabled = ? AND inventories.synced_at < ?", true, cutoff)
		return db.Where("shown_at < ? AND NOT EXISTS (?)", cutoff, outage)
	}
	var projects []string
	db := s.db.WithContext(ctx)
	if err := expired(db.Model(&models.AddressClaim{})).Distinct().Pluck("project_id", &projects).Error; err != nil {
		return fault.Internal(err)
	}
	for _, id := range projects {
		err := db.Transaction(func(tx *gorm.DB) error {
			if err := notify.Touch(tx, notify.Toolset(id)); err != nil {
				return err
			}
			return expired(tx.Where("project_id = ?", id)).Delete(&models.AddressClaim{}).Error
		})
		if err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}
