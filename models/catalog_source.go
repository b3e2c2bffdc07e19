package models

import "time"

// CatalogSourceKind is the format of a catalog source.
type CatalogSourceKind string

// The kinds of catalog sources: official is the API of the official MCP
// registry; file is a document in the catalog's own format.
const (
	CatalogOfficial CatalogSourceKind = "official"
	CatalogFile     CatalogSourceKind = "file"
)

// CatalogSchedule is the interval between syncs of a source.
type CatalogSchedule string

// The schedules of sources.
const (
	ScheduleOff    CatalogSchedule = "off"
	ScheduleHourly CatalogSchedule = "hourly"
	ScheduleDaily  CatalogSchedule = "daily"
	ScheduleWeekly CatalogSchedule = "weekly"
)

// CatalogSource is a source of catalog rows and the state of its last sync.
// Deleting a source deletes its rows.
type CatalogSource struct {
	ID      string `gorm:"primaryKey"`
	Kind    CatalogSourceKind
	Name    string // display name
	URL     string // empty for built-in data and uploaded files
	Enabled bool   // false stops syncing; rows are kept

	Schedule     CatalogSchedule `gorm:"default:off"`
	ETag         string          `gorm:"column:etag"` // of the last imported document (RFC 9110, section 8.8.3)
	HeldRemovals int64           // rows that the next sync would remove, which needs an approval; 0 means none
	HeldAt       *time.Time      // when the removals were seen

	ContentHash string     // hash of the last imported document, for built-in data
	HighWater   *time.Time // latest change read from an official source; nil means full sync

	StartedAt    *time.Time // of the last sync
	FinishedAt   *time.Time
	Succeeded    bool
	ErrorCode    string
	ErrorMessage string
	Fetched      int64 // rows read by the last successful sync
	Added        int64
	Updated      int64
	Deleted      int64
	CreatedAt    time.Time
}
