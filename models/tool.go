package models

import "time"

// Tool is one tool of an upstream server as its last successful sync saw it.
type Tool struct {
	ServerID       string `gorm:"primaryKey"`
	Name           string `gorm:"primaryKey"` // the upstream's own name
	Position       int    // order in the upstream's list
	Definition     string // the raw JSON object of tools/list, byte for byte
	DefinitionHash string // SHA-256 of Definition, hex
	ApprovedHash   string // hash an admin last approved; empty when none was
	// PreviousDefinition is what the present definition is to be compared with:
	// the approved one while an approval is due, else the one before the last
	// change. It is empty when there was none.
	PreviousDefinition string
	FirstSeenAt        time.Time
	ChangedAt          time.Time
}
