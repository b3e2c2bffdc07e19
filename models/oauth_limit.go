package models

import "time"

// OAuthLimit counts what somebody did at the authorization server since a
// moment, over all replicas.
type OAuthLimit struct {
	Subject   string    `gorm:"primaryKey"` // what is counted and for whom
	StartedAt time.Time // of the window
	Uses      int64
}

// TableName names the table, because the name of the type would split in two.
func (OAuthLimit) TableName() string { return "oauth_limits" }
