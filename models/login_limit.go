package models

import "time"

// LoginLimit counts recent sign-in attempts across all replicas.
type LoginLimit struct {
	Subject   string `gorm:"primaryKey"` // kind and value, such as "address:" and a network; e-mail addresses are hashed
	StartedAt time.Time
	Attempts  int64 // since StartedAt
}
