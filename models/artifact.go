package models

import "time"

// ArtifactKind is the form of an artifact's content.
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactJSON ArtifactKind = "json"
	ArtifactText ArtifactKind = "text"
)

// Artifact is a value that code stored for its caller, or a result that was too
// large for a result. Only its caller reads it, until it expires.
type Artifact struct {
	ProjectID string `gorm:"primaryKey"`
	Principal string `gorm:"primaryKey"` // the caller at its endpoint
	Name      string `gorm:"primaryKey"`
	Kind      ArtifactKind
	Bytes     int64 // of the content before it was sealed
	CreatedAt time.Time
	ExpiresAt time.Time
	Content   string // sealed; the last column, so that reading the others is fast
}
