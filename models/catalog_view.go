package models

import "time"

// CatalogViewKind is the way in which a view selects rows.
type CatalogViewKind string

// The kinds of views.
const (
	ViewQuery CatalogViewKind = "query" // rows that match its query
	ViewList  CatalogViewKind = "list"  // rows that administrators approved
)

// CatalogView is a registry for editors with a separate base URL.
type CatalogView struct {
	ID        string `gorm:"primaryKey"`
	Name      string // unique; part of the base URL
	Title     string
	Kind      CatalogViewKind
	Query     string // in the grammar of the catalog; empty in a list
	Gated     bool   // readable with a catalog key or token only
	CreatedAt time.Time
	UpdatedAt time.Time `gorm:"autoUpdateTime:false"`
}

// CatalogViewEntry is a row that a list contains: a catalog entry, a published
// project or toolset.
type CatalogViewEntry struct {
	ViewID  string `gorm:"primaryKey"`
	EntryID string `gorm:"primaryKey"`
	AddedAt time.Time
}
