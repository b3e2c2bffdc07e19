package models

import "time"

// Key is an API key of a project. The key is shown once; only its hash is
// stored.
type Key struct {
	ID         string `gorm:"primaryKey"`
	ProjectID  string
	Name       string
	Hash       []byte // of the whole key; unique. Releases without toolsets must not find keys of toolsets and people by it
	Prefix     string // first 8 characters, for display
	CreatedAt  time.Time
	LifetimeMS int64      // lifetime at creation; 0 means no expiry
	ExpiresAt  *time.Time // nil means no expiry; a rotation with a grace period shortens it
	LastUsedAt *time.Time // written in batches
	RevokedAt  *time.Time
	UserID     string   // owner of a personal key; empty for the project's own keys
	Scope      KeyScope `gorm:"default:project"`
}

// KeyScope limits a key to a part of its project.
type KeyScope string

// The scopes of keys.
const (
	KeyProject  KeyScope = "project"  // the whole project, or everything its owner holds
	KeyToolsets KeyScope = "toolsets" // the toolsets in KeyToolset
)
