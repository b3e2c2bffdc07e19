package models

import "time"

// Group is a set of users who share a role and grants.
type Group struct {
	ID        string `gorm:"primaryKey"`
	Name      string // as it was entered
	NameFold  string // in lower case; unique
	Claim     string // value of the provider's groups claim; unique; empty without one
	Role      Role   // empty if the group gives no role
	CreatedAt time.Time
	UpdatedAt time.Time
}
