package models

import "time"

// Setup is a single row that exists once an administrator has been created. Its
// insertion decides between concurrent first administrators; afterwards setup
// tokens are rejected.
type Setup struct {
	ID          int64 `gorm:"primaryKey;autoIncrement:false"` // always 1
	UserID      string
	CompletedAt time.Time
}
