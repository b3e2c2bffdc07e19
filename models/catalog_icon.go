package models

import "time"

// CatalogIcon is the icon at a URL, re-encoded. Hash is empty until it has been
// fetched successfully.
type CatalogIcon struct {
	URLHash string `gorm:"primaryKey"` // SHA-256 of the URL in hexadecimal
	URL     string
	Hash    string // SHA-256 of PNG in hexadecimal; the image's path contains it
	TriedAt time.Time
	Error   string // of the last attempt, or empty
	PNG     []byte `gorm:"column:png"` // the last column, so that reading the others is fast
}
