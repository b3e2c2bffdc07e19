package models

import "time"

// ProjectMember is a user who is a member of a project.
type ProjectMember struct {
	ProjectID string `gorm:"primaryKey"`
	UserID    string `gorm:"primaryKey"`
	CreatedAt time.Time
}
