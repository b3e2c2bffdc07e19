package models

import "time"

// RecipeEffect is the effect of the calls of a recipe on data, as its author declares
// it.
type RecipeEffect string

// The effects of recipes. A recipe that reads can call only tools that read.
const (
	RecipeReads    RecipeEffect = "read"
	RecipeWrites   RecipeEffect = "write"
	RecipeDestroys RecipeEffect = "destructive"
)

// Recipe is saved code that clients of its project call as the tool
// gateway__NAME. The row has the latest version.
type Recipe struct {
	ID          string `gorm:"primaryKey"`
	ProjectID   string
	Name        string // unique per project; never changes
	Description string
	InputSchema string // JSON Schema of an object
	Code        string // body of an async TypeScript function
	Effect      RecipeEffect
	Tools       StringList // exported names of the tools in its code
	Version     int64      // from 1
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// RecipeVersion is a saved version of a recipe. Only the latest versions are
// stored.
type RecipeVersion struct {
	RecipeID    string `gorm:"primaryKey"`
	Version     int64  `gorm:"primaryKey"`
	Description string
	InputSchema string
	Code        string
	Effect      RecipeEffect
	Tools       StringList
	SavedBy     string // actor, as in the audit log
	SavedAt     time.Time
}

// RecipeProposal is a recipe that a client proposed. It has no effect until an
// administrator or maintainer approves it, which deletes the row.
type RecipeProposal struct {
	ID          string `gorm:"primaryKey"`
	ProjectID   string
	Name        string // may be that of a recipe, whose next version it becomes
	Description string
	InputSchema string
	Code        string
	Effect      RecipeEffect
	Tools       StringList
	Principal   string // caller that proposed it
	RunID       string // of the code run; empty if unknown
	CreatedAt   time.Time
}
