// Package oauthserver is the OAuth 2.1 authorization server for MCP clients of
// projects whose authMode is oauth: it registers clients, asks people, and
// issues, renews, checks and revokes tokens (MCP 2025-11-25, "Authorization").
package oauthserver

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"gorm.io/gorm"

	"mcpgateway/services/activity"
	"mcpgateway/services/notify"
)

// Auditor records changes and security events, in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Sealer makes tokens that only this gateway can read; secrets.KeyRing says how.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Options are what a Server works with. All must be set.
type Options struct {
	DB        *gorm.DB
	Issuer    *url.URL // the public origin of the gateway
	Audit     Auditor
	Feed      Publisher
	Sealer    Sealer
	Documents http.RoundTripper // reaches the hosts of client metadata documents, guarded; it follows no redirects
	Now       func() time.Time
}

// Server is the authorization server. It is safe for concurrent use, and every
// replica is the same server.
type Server struct {
	db        *gorm.DB
	issuer    *url.URL
	audit     Auditor
	feed      Publisher
	sealer    Sealer
	documents http.RoundTripper
	now       func() time.Time
}

// New returns the authorization server.
func New(o Options) *Server {
	return &Server{db: o.DB, issuer: o.Issuer, audit: o.Audit, feed: o.Feed, sealer: o.Sealer, documents: o.Documents, now: o.Now}
}

// Issuer returns the server's identifier (RFC 8414, section 2).
func (s *Server) Issuer() string { return s.issuer.String() }

// Person is somebody signed in with a browser.
type Person struct {
	ID        string
	SessionID string // of the browser
}

// admits is the SQL condition under which the person u may let clients use the
// project p.
const admits = `u.disabled_at IS NULL AND p.auth_mode = 'oauth' AND (p.oauth_access = 'anyone' OR u.role = 'admin' OR EXISTS (
	SELECT 1 FROM project_members m WHERE m.project_id = p.id AND m.user_id = u.id))`
