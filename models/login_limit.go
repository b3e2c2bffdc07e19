package models

import "time"

// LoginLimit counts the recent attempts to sign in to one account or from one
// address, over all replicas.
type LoginLimit struct {
	Subject   string `gorm:"primaryKey"` // "account:" and a hash of the e-mail address, or "address:" and a network
	StartedAt time.Time
	Attempts  int64 // since StartedAt
}
