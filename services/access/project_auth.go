package access

import (
	"context"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
)

// Tokens looks up the access tokens that users granted to MCP clients.
type Tokens interface {
	// Find returns the holder of an access token for the endpoint of a project or
	// of its toolset. ok is false for a token with another audience.
	Find(ctx context.Context, projectID, toolsetID, token string) (holder TokenHolder, ok bool, err error)
}

// TokenHolder is the user of an access token, with the token's scopes.
type TokenHolder struct {
	UserID string
	Scopes []Scope
}

// ProjectAuth authenticates the clients of project endpoints by the project's
// authMode (specification, "Project authentication").
type ProjectAuth struct {
	keys     *keys.Index
	tokens   Tokens
	fresh    func() time.Time
	maxStale time.Duration
	now      func() time.Time
}

// NewProjectAuth returns a ProjectAuth that checks the keys of the index and
// the tokens. fresh returns the last time this process was known to have
// received every change. Longer than maxStale after that, projects with access
// control reject every caller.
func NewProjectAuth(keys *keys.Index, tokens Tokens, fresh func() time.Time, maxStale time.Duration, now func() time.Time) *ProjectAuth {
	return &ProjectAuth{keys: keys, tokens: tokens, fresh: fresh, maxStale: maxStale, now: now}
}

// Authenticate authenticates a caller of the endpoint of a project, or of its
// toolset, from its Authorization header. What the caller may use there is
// decided by views.Views. Every invalid header returns the same UNAUTHORIZED. It
// returns UNAVAILABLE while revocations may be missing, and while an uncached
// token can't be looked up. A project with an unsupported mode rejects every
// caller.
func (a *ProjectAuth) Authenticate(ctx context.Context, project *models.Project, toolsetID, authorization string) (Principal, error) {
	switch project.AuthMode {
	case models.AuthNone:
		return Principal{kind: anonymous, projectID: project.ID, toolsetID: toolsetID, id: anyPrincipal}, nil
	case models.AuthAPIKey, models.AuthOAuth:
	default:
		return Principal{}, fault.Unauthorized()
	}
	if a.now().Sub(a.fresh()) > a.maxStale {
		return Principal{}, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Can't verify credentials: the database is unreachable. Retry later.")
	}
	token, ok := bearerToken(authorization)
	if !ok {
		return Principal{}, fault.Unauthorized()
	}
	// A project with OAuth accepts personal keys only.
	if id, userID, use, ok := a.keys.Find(project.ID, token); ok && (userID != "" || project.AuthMode == models.AuthAPIKey) {
		return Principal{kind: kindKey, projectID: project.ID, toolsetID: toolsetID, id: id, userID: userID, use: use}, nil
	}
	if project.AuthMode == models.AuthOAuth {
		return a.byToken(ctx, project, toolsetID, strings.Clone(token)) // the token may be cached longer than the request
	}
	return Principal{}, fault.Unauthorized()
}

// byToken authenticates a user's client.
func (a *ProjectAuth) byToken(ctx context.Context, project *models.Project, toolsetID, token string) (Principal, error) {
	holder, ok, err := a.tokens.Find(ctx, project.ID, toolsetID, token)
	if err != nil {
		return Principal{}, err
	}
	if !ok || holder.UserID == "" {
		return Principal{}, fault.Unauthorized()
	}
	p := Principal{kind: person, projectID: project.ID, toolsetID: toolsetID, id: personPrincipal + holder.UserID, userID: holder.UserID}
	for _, scope := range holder.Scopes {
		switch scope {
		case ScopeRead:
			p.scopes |= mayRead
		case ScopeCall:
			p.scopes |= mayCall
		}
	}
	return p, nil
}

// bearerToken returns the token of a Bearer header (RFC 6750, section 2.1). The
// scheme is case-insensitive.
func bearerToken(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token = strings.TrimLeft(token, " ")
	return token, token != ""
}
