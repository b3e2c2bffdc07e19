package models

import (
	"database/sql/driver"
	"encoding/json"
)

// LimitPer selects what a limit counts separately.
type LimitPer string

// The values of LimitPer.
const (
	PerKey     LimitPer = "key"     // each API key
	PerPerson  LimitPer = "person"  // each user, whatever the client
	PerToolset LimitPer = "toolset" // each toolset
	PerTool    LimitPer = "tool"    // each upstream tool
	PerProject LimitPer = "project" // all calls together
)

// Limit bounds the calls of upstream tools in a project.
type Limit struct {
	Per       LimitPer `json:"per"`
	Match     string   `json:"match"`     // glob over full exported tool names
	PerSecond float64  `json:"perSecond"` // calls per second; 0 means unlimited
	Burst     int64    `json:"burst"`     // calls at once; 0 means those of one second, at least 1
	PerDay    int64    `json:"perDay"`    // calls per day in UTC; 0 means unlimited
}

// LimitList is a list of limits in one text column, as a JSON array. The empty
// list is stored as "[]".
type LimitList []Limit

// Value returns the list as JSON text.
func (l LimitList) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]Limit(l))
	return string(b), err
}

// Scan sets the list from JSON text.
func (l *LimitList) Scan(src any) error { return scanJSON(src, l) }

// GormDataType returns the column type for GORM.
func (LimitList) GormDataType() string { return "text" }
