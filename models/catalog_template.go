package models

import "time"

// CatalogTemplate is one worked example of the template catalog: a task of
// some role, the servers that it takes, and the steps to it.
type CatalogTemplate struct {
	ID                    string `gorm:"primaryKey"`
	SourceID              string
	Slug                  string // unique
	Title                 string
	Description           string
	Role                  string // who does it
	Category              string
	Difficulty            string // beginner, intermediate, advanced
	EstimatedSetupMinutes int64
	Tags                  StringList
	RelatedServerNames    StringList // server names of the registry
	Steps                 StringList

	Status      CatalogStatus
	Hidden      bool
	Locked      bool
	ContentHash string    // of what the source said
	CreatedAt   time.Time `gorm:"autoCreateTime:false"` // as the source says; the catalog's order
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // of the last change of any kind
}
