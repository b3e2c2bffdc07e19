package models

import "time"

// Tool is a tool found by the last successful sync of an upstream server.
type Tool struct {
	ServerID       string `gorm:"primaryKey"`
	Name           string `gorm:"primaryKey"` // the upstream's name
	Position       int    // order in the upstream's list
	Definition     string // raw JSON object of tools/list
	DefinitionHash string // SHA-256 of Definition, hex
	ApprovedHash   string // last approved hash, or empty
	// PreviousDefinition is the definition to compare with: the approved one
	// while an approval is pending, otherwise the one before the last change.
	// It is empty if there is none.
	PreviousDefinition string
	// ConfirmedAccess is the effect that toolsets go by, of the server's own
	// annotations: read, write or destructive. It follows the definition at once
	// when that becomes less safe; a safer one has to be confirmed. Empty means
	// that of Definition.
	ConfirmedAccess string
	FirstSeenAt     time.Time
	ChangedAt       time.Time
}
