package models

import "time"

// RequestState is the state of a request for a server of the catalog.
type RequestState string

// The states of requests.
const (
	RequestOpen     RequestState = "open"
	RequestApproved RequestState = "approved"
	RequestRefused  RequestState = "refused"
)

// CatalogRequest is a user's request to make a server of the catalog available.
type CatalogRequest struct {
	ID        string `gorm:"primaryKey"`
	EntryID   string
	EntryName string // publisher/server, also after the entry was removed
	UserID    string
	ProjectID string // that needs it, or empty
	Reason    string
	State     RequestState
	Answer    string // of the administrator, or empty
	DecidedBy string // user id, or empty
	DecidedAt *time.Time
	CreatedAt time.Time
}
