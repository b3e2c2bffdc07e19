package models

import "time"

// Embedding is the vector that a model returned for the text of a tool.
type Embedding struct {
	TextHash  string `gorm:"primaryKey"` // SHA-256 of the text in hexadecimal
	Model     string `gorm:"primaryKey"` // its name at the endpoint
	CreatedAt time.Time
	Vector    []byte // a signed byte per dimension; the last column, so that reading the others is fast
}
