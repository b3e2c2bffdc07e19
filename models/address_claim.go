package models

import "time"

// ClaimKind is the kind of an address that a server shows.
type ClaimKind string

// The kinds of claims: one URI, a URI template, or all URIs with a prefix.
const (
	ClaimURI      ClaimKind = "uri"
	ClaimTemplate ClaimKind = "template"
	ClaimPrefix   ClaimKind = "prefix"
)

// AddressClaim states that a server of a project, by alias, was the first to
// show an address. It outlives the server, and outages.
type AddressClaim struct {
	ProjectID string    `gorm:"primaryKey"`
	Alias     string    `gorm:"primaryKey"` // in lower case
	Kind      ClaimKind `gorm:"primaryKey"`
	TextHash  []byte    `gorm:"primaryKey"` // SHA-256 of Text, which can be too long for a key
	Text      string
	Position  int64     // order of the project's claims, oldest first
	ShownAt   time.Time // last time a server showed it, at most a day too old
}
