package upstream

import (
	"context"
	"net/http"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// SecretResolver reveals a stored secret, which is sealed, a `${NAME}`
// reference or empty.
type SecretResolver interface {
	Resolve(stored, row string) (secrets.Value, error)
}

// SecretRows names the rows that a server's sealed secrets are bound to.
type SecretRows struct {
	Bearer func(serverID string) string
	Header func(serverID, name string) string
}

// NewTarget returns the target of a server's configuration. Its secrets stay
// sealed until a request is about to be sent.
func NewTarget(row models.Server, resolver SecretResolver, rows SecretRows) *Target {
	return &Target{
		ServerID: row.ID, Alias: row.Alias, URL: row.URL, Version: row.ConfigVersion,
		Transport: row.Transport, Timeout: time.Duration(row.TimeoutMS) * time.Millisecond, SessionMode: row.SessionMode,
		Headers: func(context.Context) (http.Header, error) { return credentials(row, resolver, rows) },
	}
}

// credentials returns the headers that prove the gateway to the server. It
// returns UPSTREAM_UNAUTHORIZED when a credential is configured but cannot be
// had, so that no request goes out without it.
func credentials(row models.Server, resolver SecretResolver, rows SecretRows) (http.Header, error) {
	h := http.Header{}
	for name, stored := range row.Headers {
		v, err := resolver.Resolve(stored, rows.Header(row.ID, name))
		if err != nil {
			return nil, err
		}
		h[name] = []string{v.Reveal()}
	}
	switch row.AuthType {
	case models.UpstreamAuthBearer:
		v, err := resolver.Resolve(row.AuthBearer, rows.Bearer(row.ID))
		if err != nil {
			return nil, err
		}
		if v.IsZero() {
			return nil, fault.Upstream(fault.CodeUpstreamUnauthorized, "server %s has authType bearer but no authBearer: set one", row.Alias)
		}
		token := v.Reveal()
		if !strings.HasPrefix(token, "Bearer ") {
			token = "Bearer " + token
		}
		h["Authorization"] = []string{token}
	case models.UpstreamAuthOAuth:
		return nil, fault.Upstream(fault.CodeUpstreamUnauthorized, "server %s needs an OAuth connection and has none", row.Alias)
	}
	return h, nil
}
