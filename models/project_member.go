package models

import "time"

// ProjectMember is a person whom a project names as one of its own.
type ProjectMember struct {
	ProjectID string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey"`
	CreatedAt time.Time
}
