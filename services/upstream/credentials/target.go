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

// Tokens provides the access tokens of servers with OAuth.
type Tokens interface {
	// Token returns the token for a request to the server. If there is none,
	// its fault states what to do.
	Token(ctx context.Context, server models.Server) (secrets.Value, error)
	// Secrets returns the other readable secrets of the server's connection:
	// the refresh token and the client secret.
	Secrets(ctx context.Context, server models.Server) []secrets.Value
	// Refused reports that the server rejected a token, and returns the token
	// for one retry. The zero Value means no retry.
	Refused(ctx context.Context, server models.Server, token secrets.Value, c *upstream.Challenge) (secrets.Value, error)
}

// NewTarget returns the target of a server's configuration. Its secrets are not
// decrypted before the first request.
func NewTarget(row models.Server, resolver Resolver, rows Rows) *upstream.Target {
	resolver = &secretCache{resolver: resolver}
	return &upstream.Target{
		ServerID: row.ID, Alias: row.Alias, URL: row.URL, Version: row.ConfigVersion,
		Transport: row.Transport, Timeout: time.Duration(row.TimeoutMS) * time.Millisecond, SessionMode: row.SessionMode,
		MaxConcurrent: int(row.MaxConcurrent),
		Headers:       func(context.Context) (http.Header, error) { return credentials(&row, resolver, rows) },
	}
}

// NewConnectedTarget is like NewTarget, with OAuth support. For a server with
// OAuth the bearer token comes from tokens. If the server rejects it, the
// request is retried once with the token that tokens.Refused returns.
func NewConnectedTarget(row models.Server, resolver Resolver, rows Rows, tokens Tokens) *upstream.Target {
	t := NewTarget(row, resolver, rows)
	if row.AuthType != models.UpstreamAuthOAuth {
		return t
	}
	resolver = &secretCache{resolver: resolver}
	t.Headers = func(ctx context.Context) (http.Header, error) {
		h, err := extraHeaders(&row, resolver, rows)
		if err != nil {
			return nil, err
		}
		token, err := tokens.Token(ctx, row)
		if err != nil {
			return nil, err
		}
		return withAuthorization(h, bearerPrefix+token.Reveal()), nil
	}
	t.Secrets = func(ctx context.Context) []secrets.Value { return tokens.Secrets(ctx, row) }
	t.Refused = func(ctx context.Context, sent http.Header, c *upstream.Challenge) (http.Header, error) {
		token, err := tokens.Refused(ctx, row, secrets.NewValue(strings.TrimPrefix(sent.Get("Authorization"), bearerPrefix)), c)
		if err != nil || token.IsZero() {
			return nil, err
		}
		again := maps.Clone(sent)
		again["Authorization"] = []string{bearerPrefix + token.Reveal()}
		return again, nil
	}
	return t
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
	maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.EqualFold(name, "Authorization") })
	h["Authorization"] = []string{value}
	return h
}

const bearerPrefix = "Bearer "

// missing returns the fault for a credential that is not available.
func missing(reason upstream.Reason, format string, args ...any) *fault.Fault {
	f := fault.Upstream(fault.CodeUpstreamUnauthorized, format, args...)
	f.Reason = string(reason)
	return f
}
