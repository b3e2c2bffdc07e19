package models

import "time"

// Setup is the one row that says that there is, or was, an administrator. Its
// insertion decides which of several first administrators is the first; once
// it is there, nobody becomes one by a setup token again.
type Setup struct {
	ID          int64 `gorm:"primaryKey;autoIncrement:false"` // always 1
	UserID      string
	CompletedAt time.Time
}
