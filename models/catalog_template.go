package models

import "time"

// CatalogTemplate is an example in the template catalog: a role's task, the
// servers it uses and its steps.
type CatalogTemplate struct {
	ID                    string `gorm:"primaryKey"`
	SourceID              string
	Slug                  string // unique
	Title                 string
	Description           string
	Role                  string // role that performs the task
	Category              string
	Difficulty            string // beginner, intermediate, advanced
	EstimatedSetupMinutes int64
	Tags                  StringList
	RelatedServerNames    StringList // server names of the registry
	Steps                 StringList

	Status      CatalogStatus
	Hidden      bool
	Locked      bool
	ContentHash string    // of the source's row
	CreatedAt   time.Time `gorm:"autoCreateTime:false"` // from the source; the catalog is sorted by it
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // of the last change of any kind
}
