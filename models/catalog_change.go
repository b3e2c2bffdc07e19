package models

import "time"

// CatalogChange is a change of one catalog row: by a sync of its source or by an
// administrator.
type CatalogChange struct {
	ID      string `gorm:"primaryKey"` // UUIDv7, so that ids are in order of time
	EntryID string
	At      time.Time
	Actor   string // user id, or empty for a sync
	Action  string
	Detail  StringMap // changed members: "old → new"
}
