package inventory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/addresses"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/listing"
	"mcpgateway/services/upstream/wire"
)

// maxToolName is the maximum length of a stored tool name in bytes. With its
// server's alias it fits a project's list of disabled tools and a database index.
const maxToolName = 400

// Maximum number of rows per statement.
const (
	rowsPerInsert = 200
	rowsPerDelete = 500
)

// storeLists stores the lists of a server and claims what it shows. It reports
// whether it claimed anything new.
func (s *Syncer) storeLists(tx *gorm.DB, result *SyncResult, found *listed) (claimed bool, err error) {
	shown := addresses.ShownIn(found.tools, found.offers)
	left, err := s.Claims.Left(tx, &result.Server, shown)
	if err != nil {
		return false, err
	}
	result.Warnings = append(result.Warnings, left[:min(len(left), listing.MaxWarnings)]...)
	if err := s.storeInventory(tx, result, found); err != nil {
		return false, err
	}
	if err := storeHash(tx, &result.Server, found.hash); err != nil {
		return false, err
	}
	return s.Claims.Add(tx, &result.Server, shown)
}

// storeInventory replaces the stored lists of a server by the listed ones and
// records the changes in the result. Kinds that are missing in offers remain.
func (s *Syncer) storeInventory(tx *gorm.DB, result *SyncResult, found *listed) error {
	var err error
	if result.touched, err = s.storeTools(tx, result, found); err != nil {
		return err
	}
	for kind, listings := range found.offers {
		touched, err := storeListings(tx, result.Server.ID, kind, listings)
		if err != nil {
			return err
		}
		result.touched = result.touched || touched
	}
	return nil
}

// storeListings replaces the stored listings of one kind. It reports whether
// any of them changed.
func storeListings(tx *gorm.DB, serverID string, kind models.ListingKind, listings []models.Listing) (bool, error) {
	var rows []models.Listing
	if err := tx.Find(&rows, "server_id = ? AND kind = ?", serverID, kind).Error; err != nil {
		return false, err
	}
	stored := make(map[string]models.Listing, len(rows))
	for _, row := range rows {
		stored[row.Ident] = row
	}
	var upserts []models.Listing
	for _, next := range listings {
		if row, known := stored[next.Ident]; !known || row != next {
			upserts = append(upserts, next)
		}
		delete(stored, next.Ident)
	}
	if len(upserts) > 0 {
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(upserts, rowsPerInsert).Error; err != nil {
			return false, err
		}
	}
	for gone := range slices.Chunk(slices.Collect(maps.Keys(stored)), rowsPerDelete) {
		if err := tx.Delete(&models.Listing{}, "server_id = ? AND kind = ? AND ident IN ?", serverID, kind, gone).Error; err != nil {
			return false, err
		}
	}
	return len(upserts)+len(stored) > 0, nil
}

// storeFailure records a failed sync and keeps the tools. It reports whether
// anything visible to clients or pages changed.
func (s *Syncer) storeFailure(tx *gorm.DB, serverID string, f *fault.Fault) (bool, error) {
	old, err := inventoryOf(tx, serverID)
	if err != nil {
		return false, err
	}
	next := models.Inventory{ServerID: serverID}
	if old != nil {
		next = *old
	}
	next.AttemptedAt, next.ErrorCode = s.Now(), string(f.Code)
	next.ErrorReason = string(upstream.ReasonOf(f))
	touched := old == nil || old.ErrorCode != next.ErrorCode || old.ErrorReason != next.ErrorReason || !equalIgnoringNumbers(old.ErrorMessage, f.Message)
	if touched {
		next.ErrorMessage = f.Message
	}
	return touched, saveInventory(tx, &next)
}

// equalIgnoringNumbers compares failure messages. A message that quotes an
// upstream can contain the ID of our request, which differs each time.
func equalIgnoringNumbers(a, b string) bool {
	return a == b || withoutNumbers(a) == withoutNumbers(b)
}

func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// storeTools replaces the stored tools by the listed ones and records the
// changes in the result. It reports whether anything visible to clients or
// pages changed.
func (s *Syncer) storeTools(tx *gorm.DB, result *SyncResult, found *listed) (bool, error) {
	serverID, now := result.Server.ID, s.Now()
	var rows []models.Tool
	if err := tx.Order("position").Find(&rows, "server_id = ?", serverID).Error; err != nil {
		return false, err
	}
	stored := make(map[string]models.Tool, len(rows))
	for _, row := range rows {
		stored[row.Name] = row
	}
	upserts, err := result.compare(stored, found.tools, now)
	if err != nil {
		return false, err
	}
	if len(upserts) > 0 {
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(upserts, rowsPerInsert).Error; err != nil {
			return false, err
		}
	}
	for _, row := range rows {
		if _, gone := stored[row.Name]; !gone {
			continue
		}
		result.Removed = append(result.Removed, row.Name)
		if err := tx.Delete(&models.Tool{}, "server_id = ? AND name = ?", serverID, row.Name).Error; err != nil {
			return false, err
		}
	}
	described, err := storeDescription(tx, result, found.about, now)
	return described || len(upserts)+len(result.Removed) > 0, err
}

// compare returns the rows to write for the listed tools, and records the added
// and changed ones. It removes the listed tools from stored.
func (r *SyncResult) compare(stored map[string]models.Tool, tools [][]byte, now time.Time) (upserts []models.Tool, err error) {
	for position, raw := range tools {
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return nil, fmt.Errorf("listed tool is not an object: %w", err)
		}
		name, _ := o.String("name")
		if len(name) > maxToolName || strings.ContainsRune(name, 0) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("tool %q was omitted: its name has more than %d bytes or contains a null character", wire.Excerpt([]byte(name)), maxToolName))
			r.Total--
			continue
		}
		for _, problem := range toolset.DefinitionProblems(raw) {
			if len(r.Warnings) < listing.MaxWarnings {
				r.Warnings = append(r.Warnings, fmt.Sprintf("tool %q: %s", wire.Excerpt([]byte(name)), problem))
			}
		}
		row, known := stored[name]
		delete(stored, name)
		next := models.Tool{
			ServerID: r.Server.ID, Name: name, Position: position, Definition: string(raw), DefinitionHash: toolset.HashDefinition(raw),
			ApprovedHash: row.ApprovedHash, PreviousDefinition: row.PreviousDefinition, ConfirmedAccess: toolset.ConfirmedAccess(row, raw), FirstSeenAt: row.FirstSeenAt, ChangedAt: row.ChangedAt,
		}
		switch {
		case !known:
			next.FirstSeenAt, next.ChangedAt = now, now
			r.Added = append(r.Added, name)
		case row.DefinitionHash != next.DefinitionHash:
			next.ChangedAt, next.PreviousDefinition = now, previousOf(row)
			r.Changed = append(r.Changed, name)
		case row.Position == position && row.ConfirmedAccess == next.ConfirmedAccess:
			continue
		}
		upserts = append(upserts, next)
	}
	return upserts, nil
}

// previousOf returns the definition to compare a change of the row with. An
// approved definition remains the previous one until the next approval, however
// often the definition changes.
func previousOf(row models.Tool) string {
	if kept := row.PreviousDefinition; kept != "" && toolset.HashDefinition([]byte(kept)) == row.ApprovedHash && row.DefinitionHash != row.ApprovedHash {
		return kept
	}
	return row.Definition
}

// storeDescription stores a server's description. It reports whether the
// description or the warnings changed.
func storeDescription(tx *gorm.DB, result *SyncResult, d *upstream.Description, now time.Time) (bool, error) {
	old, err := inventoryOf(tx, result.Server.ID)
	if err != nil {
		return false, err
	}
	next := models.Inventory{
		ServerID: result.Server.ID, SyncedAt: &now, AttemptedAt: now, Warnings: result.Warnings,
		ProtocolVersion: d.ProtocolVersion, TransportUsed: d.Transport,
		ServerInfo: string(d.ServerInfo), Capabilities: string(d.Capabilities),
		Instructions: strings.ReplaceAll(d.Instructions, "\x00", ""), // PostgreSQL cannot store null characters
	}
	return !sameInventory(old, &next), saveInventory(tx, &next)
}

// sameInventory compares all fields except the times.
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
