package models

import "time"

// OAuthLimit counts a subject's actions at the authorization server in a time
// window, across all replicas.
type OAuthLimit struct {
	Subject   string    `gorm:"primaryKey"` // action and counted subject
	StartedAt time.Time // start of the window
	Uses      int64
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthLimit) TableName() string { return "oauth_limits" }
