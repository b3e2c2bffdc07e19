// Package oauthserver is the OAuth 2.1 authorization server for MCP clients of
// projects with authMode oauth. It registers clients, records consent, and
// issues, refreshes, validates and revokes tokens (MCP 2025-11-25,
// "Authorization").
package oauthserver

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/activity"
	"mcpgateway/services/notify"
)

// Auditor records changes and security events in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Publisher publishes committed changes to this and other processes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Rights returns what people may use. Implemented by rights.Index.
type Rights interface {
	Held(project *models.Project, userID string) rights.Held
}

// Sealer seals tokens that only this gateway can open. Implemented by
// secrets.KeyRing.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Options are the dependencies of a Server. All are required.
type Options struct {
	DB        *gorm.DB
	Issuer    *url.URL // public origin of the gateway
	Audit     Auditor
	Feed      Publisher
	Rights    Rights
	Sealer    Sealer
	Documents http.RoundTripper // guarded transport for client metadata documents; follows no redirects
	Now       func() time.Time
}

// Server is the authorization server. It is safe for concurrent use. All
// replicas share its state.
type Server struct {
	db        *gorm.DB
	issuer    *url.URL
	audit     Auditor
	feed      Publisher
	rights    Rights
	sealer    Sealer
	documents http.RoundTripper
	now       func() time.Time
}

// New returns the authorization server.
func New(o Options) *Server {
	return &Server{db: o.DB, issuer: o.Issuer, audit: o.Audit, feed: o.Feed, rights: o.Rights, sealer: o.Sealer, documents: o.Documents, now: o.Now}
}

// Issuer returns the server's identifier (RFC 8414, section 2).
func (s *Server) Issuer() string { return s.issuer.String() }

// User is a user signed in with a browser.
type User struct {
	ID        string
	SessionID string // browser session
}
