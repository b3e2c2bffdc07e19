package models

// KeyToolset is a toolset that a key of scope toolsets can use.
type KeyToolset struct {
	KeyID     string `gorm:"primaryKey"`
	ToolsetID string `gorm:"primaryKey"`
}
