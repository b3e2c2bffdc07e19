package models

import "time"

// DestinationKind is the kind of a destination of events.
type DestinationKind string

// The kinds of destinations. The file is configured by the operator alone.
const (
	DestinationWebhook DestinationKind = "webhook"
	DestinationSlack   DestinationKind = "slack"
	DestinationOTLP    DestinationKind = "otlp"
	DestinationFile    DestinationKind = "file"
)

// Destination receives the events that match its filter, in order, at least once.
// Its address and secrets are sealed.
type Destination struct {
	ID           string `gorm:"primaryKey"`
	Name         string
	Kind         DestinationKind
	Address      string     // sealed, because addresses can contain credentials; the path of a file in cleartext
	Secret       string     // sealed: signs webhooks; a header of OTLP requests; or empty
	FormerSecret string     // sealed: also signs until FormerUntil; or empty
	FormerUntil  *time.Time // nil without FormerSecret
	Filter       string     // a query; empty matches every event
	Active       bool       // events raised while it is false are not delivered
	Position     int64      // Seq of the last event that was delivered, dead or filtered out
	Delivered    int64      // number of delivered events
	Failures     int64      // failed attempts since the last success
	FailingSince *time.Time // first of the failed attempts since the last success, or nil
	NextAt       *time.Time // earliest next attempt after a failure, or nil
	LastAt       *time.Time // of the last attempt, or nil
	LastStatus   int64      // HTTP status of the last attempt, or 0
	LastReply    string     // start of the response, or the reason of the failure
	CreatedAt    time.Time
	UpdatedAt    time.Time // of its settings
}

// DeadLetter is an event that a destination did not accept in time. It is stored
// until it is sent again or discarded, for a limited time.
type DeadLetter struct {
	ID            string `gorm:"primaryKey"` // UUID version 7
	DestinationID string
	Seq           int64 // of the event
	EventID       string
	Kind          string
	Project       string
	At            time.Time
	Audit         bool
	Body          string
	DiedAt        time.Time
	Reason        string     // of the last failed attempt
	AgainAt       *time.Time // when it was queued to be sent again, or nil
}
