package models

import "time"

// CatalogSourceKind says what a catalog source speaks.
type CatalogSourceKind string

// The kinds of catalog sources: official is the API of the official MCP
// registry, file is a document in the catalog's own format.
const (
	CatalogOfficial CatalogSourceKind = "official"
	CatalogFile     CatalogSourceKind = "file"
)

// CatalogSource is a place that catalog rows come from, and how its last sync
// ended. The rows of a source go with it.
type CatalogSource struct {
	ID      string `gorm:"primaryKey"`
	Kind    CatalogSourceKind
	Name    string // for people
	URL     string // empty for what is not fetched: the built-in data and uploaded files
	Enabled bool   // a disabled source is not synced; its rows stay

	ContentHash string     // of the document that was last taken in, for built-in data
	HighWater   *time.Time // latest change that was seen at an official source; nil reads everything

	StartedAt    *time.Time // of the last sync
	FinishedAt   *time.Time
	Succeeded    bool
	ErrorCode    string
	ErrorMessage string
	Fetched      int64 // rows that the last successful sync read
	Added        int64
	Updated      int64
	Deleted      int64
	CreatedAt    time.Time
}
