package models

import "time"

// Toolset is a named subset of a project's tools with its own endpoints. A tool
// is a member if Query or Include selects it and Exclude doesn't.
type Toolset struct {
	ID           string `gorm:"primaryKey"`
	ProjectID    string
	Slug         string // unique per project; part of the endpoints' path
	Name         string
	Description  string
	Query        string       // qualifiers of the tool search grammar
	Include      StringList   // globs over full exported names
	Exclude      StringList   // like Include
	OffersOf     StringList   // aliases whose prompts and resources belong to it; "*" is every server with a member
	ToolExposure ToolExposure // empty is the project's
	CreatedAt    time.Time
	UpdatedAt    time.Time
}
