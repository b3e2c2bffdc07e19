package models

import "time"

// Alert is a problem of one object that a rule found. It outlives processes, so
// that a restart neither repeats nor loses it.
type Alert struct {
	ID         string `gorm:"primaryKey"` // UUID version 7
	Rule       string
	Subject    string // ID of the object; with Rule, unique among the alerts that aren't resolved
	Project    string // slug; empty for the whole gateway
	Object     string // name of the object, such as an alias
	Detail     string // the problem, as a sentence
	State      AlertState
	Since      time.Time  // start of the problem
	FiredAt    *time.Time // nil while pending
	ClearSince *time.Time // nil while the problem lasts
	ResolvedAt *time.Time
	Mailed     AlertState // the last state that was sent by mail; empty if none
}

// AlertState is the state of an alert.
type AlertState string

// The states of an alert. A problem that ends while its alert is pending deletes
// it.
const (
	AlertPending  AlertState = "pending"
	AlertFiring   AlertState = "firing"
	AlertResolved AlertState = "resolved"
)

// AlertRule is a built-in rule whose settings an administrator changed.
type AlertRule struct {
	ID         string `gorm:"primaryKey"`
	Enabled    bool
	Thresholds string // JSON object of numbers by name
	UpdatedAt  time.Time
}
