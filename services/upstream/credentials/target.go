// Package credentials returns the call target of a stored server. Its secrets
// are not decrypted before the first request.
package credentials

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// Resolver resolves a stored secret, which is sealed, a `${NAME}` reference or
// empty.
type Resolver interface {
	Resolve(stored, row string) (secrets.Value, error)
}

// Rows returns the names of the rows that a server's sealed secrets are bound
// to.
type Rows struct {
	Bearer func(serverID string) string
	Header func(serverID, name string) string
}

// Tokens provides the credentials of servers with OAuth and of users' own
// accounts. userID is empty for the account that all users share.
type Tokens interface {
	// Credentials returns what a request to the server is sent with. If there is
	// nothing, its fault states what to do.
	Credentials(ctx context.Context, server models.Server, userID string) (upstream.Credentials, error)
	// Secrets returns the other readable secrets of the server's connection:
	// the refresh token and the client secret.
	Secrets(ctx context.Context, server models.Server, userID string) []secrets.Value
	// Refused reports that the server rejected credentials, and returns those for
	// one retry. None means no retry.
	Refused(ctx context.Context, server models.Server, userID string, sent upstream.Credentials, c *upstream.Challenge) (upstream.Credentials, error)
	// Accepted reports that the server accepted a user's credentials.
	Accepted(ctx context.Context, server models.Server, userID string, sent upstream.Credentials)
}

// NewTarget returns the target of a server's configuration. Its secrets are not
// decrypted before the first request.
func NewTarget(row models.Server, resolver Resolver, rows Rows) *upstream.Target {
	resolver = &secretCache{resolver: resolver}
	return &upstream.Target{
		ServerID: row.ID, Alias: row.Alias, URL: row.URL, Version: row.ConfigVersion,
		Transport: row.Transport, Timeout: time.Duration(row.TimeoutMS) * time.Millisecond, SessionMode: row.SessionMode,
		MaxConcurrent: int(row.MaxConcurrent), ProtocolVersion: row.ProtocolVersion, TaskTimeout: time.Duration(row.TaskTimeoutMS) * time.Millisecond,
		Headers: func(context.Context) (http.Header, error) { return credentials(&row, resolver, rows) },
	}
}

// NewConnectedTarget is like NewTarget, with OAuth and users' own accounts. For a
// server with OAuth the bearer token comes from tokens. If the server rejects it,
// the request is retried once with the token that tokens.Refused returns. The
// target of a personal server fails with PERSON_REQUIRED; its Own returns those
// of users.
func NewConnectedTarget(row models.Server, resolver Resolver, rows Rows, tokens Tokens) *upstream.Target {
	t := NewTarget(row, resolver, rows)
	c := &connected{row: &row, resolver: &secretCache{resolver: resolver}, rows: rows, tokens: tokens}
	switch {
	case row.IsPersonal():
		t.Headers = func(context.Context) (http.Header, error) { return nil, upstream.PersonRequired(row.Alias) }
		t.Own = func(userID string) *upstream.Target { return c.own(t, userID) }
	case row.AuthType == models.UpstreamAuthOAuth:
		c.use(t)
	}
	return t
}

// connected returns the headers of requests with an account: the one that all
// users share, or a user's own.
type connected struct {
	row      *models.Server
	resolver Resolver
	rows     Rows
	tokens   Tokens
	userID   string
}

// own returns the target of a user's own account.
func (c connected) own(shared *upstream.Target, userID string) *upstream.Target {
	t := *shared
	t.Own, t.Person, c.userID = nil, userID, userID
	c.use(&t)
	t.Accepted = c.accepted
	return &t
}

// use sets the functions of a target to those of the account.
func (c *connected) use(t *upstream.Target) {
	t.Headers, t.Secrets, t.Refused = c.headers, c.secrets, c.refused
}

// headers returns all headers of a request that depend on the configuration and
// the account.
func (c *connected) headers(ctx context.Context) (http.Header, error) {
	h, err := extraHeaders(c.row, c.resolver, c.rows)
	if err != nil {
		return nil, err
	}
	given, err := c.tokens.Credentials(ctx, *c.row, c.userID)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = make(http.Header, 1+len(given.Headers))
	}
	put(h, given)
	return h, nil
}

func (c *connected) secrets(ctx context.Context) []secrets.Value {
	return c.tokens.Secrets(ctx, *c.row, c.userID)
}

func (c *connected) refused(ctx context.Context, sent http.Header, challenge *upstream.Challenge) (http.Header, error) {
	given, err := c.tokens.Refused(ctx, *c.row, c.userID, c.sent(sent), challenge)
	if err != nil || given.IsZero() {
		return nil, err
	}
	again := maps.Clone(sent)
	put(again, given)
	return again, nil
}

func (c *connected) accepted(ctx context.Context, sent http.Header) {
	c.tokens.Accepted(ctx, *c.row, c.userID, c.sent(sent))
}

// sent returns the credentials in the headers of a request.
func (c *connected) sent(h http.Header) upstream.Credentials {
	var given upstream.Credentials
	if token, ok := strings.CutPrefix(h.Get("Authorization"), bearerPrefix); ok && c.row.AuthType != models.UpstreamAuthNone {
		given.Bearer = secrets.NewValue(token)
	}
	if c.userID == "" || len(c.row.PersonalHeaders) == 0 {
		return given
	}
	given.Headers = make(map[string]secrets.Value, len(c.row.PersonalHeaders))
	for _, name := range c.row.PersonalHeaders {
		given.Headers[name] = secrets.NewValue(h.Get(name))
	}
	return given
}

// put adds credentials to headers. They replace configured ones in any spelling.
func put(h http.Header, given upstream.Credentials) {
	if !given.Bearer.IsZero() {
		replace(h, "Authorization", bearerPrefix+given.Bearer.Reveal())
	}
	for name, value := range given.Headers {
		replace(h, name, value.Reveal())
	}
}

// credentials returns the headers that authenticate the gateway to the server.
// It returns UPSTREAM_UNAUTHORIZED if a configured credential is not available,
// so that no request is sent without it.
func credentials(row *models.Server, resolver Resolver, rows Rows) (http.Header, error) {
	h, err := extraHeaders(row, resolver, rows)
	if err != nil {
		return nil, err
	}
	switch row.AuthType {
	case models.UpstreamAuthBearer:
		v, err := resolver.Resolve(row.AuthBearer, rows.Bearer(row.ID))
		if err != nil {
			return nil, err
		}
		if v.IsZero() {
			return nil, missing(upstream.ReasonNoToken, "Server %s has authType bearer but no authBearer. Set one.", row.Alias)
		}
		token := v.Reveal()
		if !strings.HasPrefix(token, bearerPrefix) {
			token = bearerPrefix + token
		}
		h = withAuthorization(h, token)
	case models.UpstreamAuthOAuth:
		return nil, missing(upstream.ReasonNotConnected, "Server %s requires an OAuth connection. Connect it first.", row.Alias)
	}
	return h, nil
}

// extraHeaders returns the configured headers of the server, or nil.
func extraHeaders(row *models.Server, resolver Resolver, rows Rows) (http.Header, error) {
	if len(row.Headers) == 0 {
		return nil, nil
	}
	h := make(http.Header, len(row.Headers)+1)
	for name, stored := range row.Headers {
		v, err := resolver.Resolve(stored, rows.Header(row.ID, name))
		if err != nil {
			return nil, err
		}
		if v.IsZero() {
			return nil, missing(upstream.ReasonNoToken, "Server %s has no value for the header %s. Set one.", row.Alias, name)
		}
		h[name] = []string{v.Reveal()}
	}
	return h, nil
}

// withAuthorization returns the headers, which may be nil, with the given
// Authorization. It replaces configured ones in any spelling.
func withAuthorization(h http.Header, value string) http.Header {
	if h == nil {
		h = make(http.Header, 1)
	}
	replace(h, "Authorization", value)
	return h
}

// replace sets a header. It replaces other spellings.
func replace(h http.Header, name, value string) {
	maps.DeleteFunc(h, func(other string, _ []string) bool { return strings.EqualFold(other, name) })
	h.Set(name, value)
}

const bearerPrefix = "Bearer "

// missing returns the fault for a credential that is not available.
func missing(reason upstream.Reason, format string, args ...any) *fault.Fault {
	f := fault.Upstream(fault.CodeUpstreamUnauthorized, format, args...)
	f.Reason = string(reason)
	return f
}
