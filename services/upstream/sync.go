package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/rawjson"
)

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// SyncResult is what one sync changed. The lists hold the upstream's own tool
// names, in its order.
type SyncResult struct {
	Server   models.Server
	Added    []string
	Changed  []string
	Removed  []string
	Total    int
	Duration time.Duration
	Warnings []string
}

// Syncer reads the tools of upstream servers into the database.
type Syncer struct {
	db     *gorm.DB
	pool   *Pool
	target func(models.Server) *Target
	hash   func([]byte) string
	feed   Publisher
	now    func() time.Time
	log    *slog.Logger

	flight   singleflight.Group
	schedule *schedule
}

// NewSyncer returns a syncer. target makes the call target of a server and
// hash the identity of a definition.
func NewSyncer(db *gorm.DB, pool *Pool, target func(models.Server) *Target, hash func([]byte) string, feed Publisher, now func() time.Time, log *slog.Logger) *Syncer {
	return &Syncer{db: db, pool: pool, target: target, hash: hash, feed: feed, now: now, log: log, schedule: newSchedule(now)}
}

// Sync reads the tools of the server with the id and stores them; callers at
// the same time share one run. It returns NOT_FOUND for an unknown server and
// UPSTREAM_ faults when the upstream fails, in which case the stored tools
// stay and the failure is recorded.
func (s *Syncer) Sync(ctx context.Context, serverID string) (SyncResult, error) {
	// The shared run outlives the caller who happened to start it.
	run := s.flight.DoChan(serverID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SyncTimeout)
		defer cancel()
		return s.sync(ctx, serverID)
	})
	select {
	case r := <-run:
		result, _ := r.Val.(SyncResult)
		return result, r.Err
	case <-ctx.Done():
		return SyncResult{}, ctx.Err()
	}
}

func (s *Syncer) sync(ctx context.Context, serverID string) (SyncResult, error) {
	var server models.Server
	err := s.db.WithContext(ctx).First(&server, "id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		s.schedule.forget(serverID)
		return SyncResult{}, fault.NotFound("server", serverID)
	}
	if err != nil {
		s.schedule.failed(serverID)
		return SyncResult{}, fault.Internal(err)
	}
	start := time.Now()
	tools, description, warnings, listErr := s.pool.ListTools(ctx, s.target(server))
	result := SyncResult{Server: server, Duration: time.Since(start), Warnings: warnings, Total: len(tools)}
	// The outcome is stored even when it took the whole of the time-out.
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	touched := false
	err = s.db.WithContext(store).Transaction(func(tx *gorm.DB) error {
		var now models.Server
		if err := tx.Clauses(models.LockRow(tx)...).First(&now, "id = ?", serverID).Error; err != nil {
			return err
		}
		if now.ConfigVersion != server.ConfigVersion {
			return errConfigChanged
		}
		var err error
		if listErr != nil {
			touched, err = s.storeFailure(tx, serverID, fault.From(listErr))
		} else {
			touched, err = s.storeTools(tx, &result, tools, description)
		}
		if err != nil || !touched {
			return err
		}
		return notify.Touch(tx, notify.Toolset(server.ProjectID))
	})
	switch {
	case errors.Is(err, errConfigChanged):
		s.schedule.due(serverID)
		return result, fault.Conflict("server %s was changed while it was read: it will be read again", server.Alias)
	case errors.Is(err, gorm.ErrRecordNotFound):
		s.schedule.forget(serverID)
		return result, fault.NotFound("server", serverID)
	case err != nil:
		s.schedule.done(serverID, server.ConfigVersion, false)
		return result, fault.Internal(err)
	}
	s.schedule.done(serverID, server.ConfigVersion, listErr == nil)
	s.report(&result, listErr)
	if touched {
		if err := s.feed.Published(store, notify.Toolset(server.ProjectID)); err != nil {
			return result, err
		}
	}
	return result, listErr
}

// errConfigChanged ends a sync whose answer belongs to an older configuration.
var errConfigChanged = errors.New("the configuration changed during the sync")

func (s *Syncer) report(r *SyncResult, err error) {
	log := s.log.With("server", r.Server.Alias, "server_id", r.Server.ID, "ms", r.Duration.Milliseconds())
	if err != nil {
		f := fault.From(err)
		log.Warn("sync failed", "code", f.Code, "error", f.Error())
		return
	}
	log.Info("synced", "tools", r.Total, "added", len(r.Added), "changed", len(r.Changed), "removed", len(r.Removed), "warnings", len(r.Warnings))
}

// storeFailure records a failed attempt and leaves the tools as they are. It
// reports whether anything that clients or pages see changed.
func (s *Syncer) storeFailure(tx *gorm.DB, serverID string, f *fault.Fault) (bool, error) {
	old, err := inventoryOf(tx, serverID)
	if err != nil {
		return false, err
	}
	next := models.Inventory{ServerID: serverID}
	if old != nil {
		next = *old
	}
	next.AttemptedAt, next.ErrorCode, next.ErrorMessage = s.now(), string(f.Code), f.Message
	touched := old == nil || old.ErrorCode != next.ErrorCode || old.ErrorMessage != next.ErrorMessage
	return touched, saveInventory(tx, &next)
}

// storeTools replaces the stored tools by the listed ones and fills in what
// changed. It reports whether anything that clients or pages see changed.
func (s *Syncer) storeTools(tx *gorm.DB, result *SyncResult, tools [][]byte, d *Description) (bool, error) {
	serverID, now := result.Server.ID, s.now()
	var rows []models.Tool
	if err := tx.Find(&rows, "server_id = ?", serverID).Error; err != nil {
		return false, err
	}
	stored := make(map[string]models.Tool, len(rows))
	for _, row := range rows {
		stored[row.Name] = row
	}
	touched := false
	var upserts []models.Tool
	for position, raw := range tools {
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return false, fmt.Errorf("a listed tool is not an object: %w", err)
		}
		name, _ := o.String("name")
		row, known := stored[name]
		delete(stored, name)
		next := models.Tool{
			ServerID: serverID, Name: name, Position: position, Definition: string(raw), DefinitionHash: s.hash(raw),
			ApprovedHash: row.ApprovedHash, FirstSeenAt: row.FirstSeenAt, ChangedAt: row.ChangedAt,
		}
		switch {
		case !known:
			next.FirstSeenAt, next.ChangedAt = now, now
			result.Added = append(result.Added, name)
		case row.DefinitionHash != next.DefinitionHash:
			next.ChangedAt = now
			result.Changed = append(result.Changed, name)
		case row.Position == position:
			continue
		}
		upserts = append(upserts, next)
	}
	if len(upserts) > 0 {
		touched = true
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(upserts, 200).Error; err != nil {
			return false, err
		}
	}
	for _, row := range rows {
		if _, gone := stored[row.Name]; !gone {
			continue
		}
		touched = true
		result.Removed = append(result.Removed, row.Name)
		if err := tx.Delete(&models.Tool{}, "server_id = ? AND name = ?", serverID, row.Name).Error; err != nil {
			return false, err
		}
	}
	old, err := inventoryOf(tx, serverID)
	if err != nil {
		return false, err
	}
	next := models.Inventory{
		ServerID: serverID, SyncedAt: &now, AttemptedAt: now, Warnings: result.Warnings,
		ProtocolVersion: d.ProtocolVersion, TransportUsed: d.Transport,
		ServerInfo: string(d.ServerInfo), Capabilities: string(d.Capabilities), Instructions: d.Instructions,
	}
	touched = touched || !sameInventory(old, &next)
	return touched, saveInventory(tx, &next)
}

// sameInventory compares everything but the times.
func sameInventory(old, next *models.Inventory) bool {
	return old != nil && old.SyncedAt != nil && old.ErrorCode == "" &&
		fmt.Sprint(old.Warnings) == fmt.Sprint(next.Warnings) && old.ProtocolVersion == next.ProtocolVersion && old.TransportUsed == next.TransportUsed &&
		old.ServerInfo == next.ServerInfo && old.Capabilities == next.Capabilities && old.Instructions == next.Instructions
}

func inventoryOf(tx *gorm.DB, serverID string) (*models.Inventory, error) {
	var row models.Inventory
	err := tx.First(&row, "server_id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	return &row, err
}

func saveInventory(tx *gorm.DB, row *models.Inventory) error {
	return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(row).Error
}
