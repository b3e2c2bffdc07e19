package models

import "time"

// RefusedRequest is a request to an endpoint of a project that the gateway
// refused. Only the newest ones of each project are kept. No column contains
// credentials.
type RefusedRequest struct {
	ID        string `gorm:"primaryKey"` // sorts by time
	At        time.Time
	ProjectID string
	Method    string // of HTTP
	Endpoint  string // such as request, sse or toolsets/reader/request
	Status    int64  // of HTTP
	Code      string // error code
	Reason    string // the message that the client received
	Client    string // name and version, or the User-Agent; may be empty
	Address   string
	RequestID string // request id in the log
}
