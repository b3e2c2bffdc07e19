package access

import (
	"context"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
)

// Tokens knows what people allowed MCP clients.
type Tokens interface {
	// Find returns whom an access token of the project speaks for. For every
	// token that opens nothing there, ok is false.
	Find(ctx context.Context, project *models.Project, token string) (holder TokenHolder, ok bool, err error)
}

// TokenHolder is the person that an access token speaks for, and the token's
// scopes.
type TokenHolder struct {
	UserID string
	Scopes []Scope
}

// ProjectAuth admits the clients of project endpoints by the project's
// authMode (specification, "Project authentication").
type ProjectAuth struct {
	keys     *keys.Index
	tokens   Tokens
	fresh    func() time.Time
	maxStale time.Duration
	now      func() time.Time
}

// NewProjectAuth returns a ProjectAuth that knows the keys of the index and
// the tokens. fresh tells when this process last knew that it had heard of
// every change; longer than maxStale after that, projects with access control
// are closed.
func NewProjectAuth(keys *keys.Index, tokens Tokens, fresh func() time.Time, maxStale time.Duration, now func() time.Time) *ProjectAuth {
	return &ProjectAuth{keys: keys, tokens: tokens, fresh: fresh, maxStale: maxStale, now: now}
}

// Authenticate proves a caller of the project from its Authorization header.
// Whatever is wrong with the header, the fault is the same UNAUTHORIZED. It
// returns UNAVAILABLE while revocations may not have been heard of, and while
// a token that is not known yet cannot be looked up. A project whose mode
// cannot be served admits nobody.
func (a *ProjectAuth) Authenticate(ctx context.Context, project *models.Project, authorization string) (Principal, error) {
	switch project.AuthMode {
	case models.AuthNone:
		return Principal{kind: anonymous, projectID: project.ID, id: anyPrincipal}, nil
	case models.AuthAPIKey, models.AuthOAuth:
	default:
		return Principal{}, fault.Unauthorized()
	}
	if a.now().Sub(a.fresh()) > a.maxStale {
		return Principal{}, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "this replica has lost touch with the database and cannot check credentials")
	}
	token, ok := bearerToken(authorization)
	if !ok {
		return Principal{}, fault.Unauthorized()
	}
	if project.AuthMode == models.AuthOAuth {
		return a.byToken(ctx, project, strings.Clone(token)) // which may be kept longer than the request
	}
	id, ok := a.keys.Find(project.ID, token)
	if !ok {
		return Principal{}, fault.Unauthorized()
	}
	return Principal{kind: keyHolder, projectID: project.ID, id: id}, nil
}

// byToken proves the client of a person.
func (a *ProjectAuth) byToken(ctx context.Context, project *models.Project, token string) (Principal, error) {
	holder, ok, err := a.tokens.Find(ctx, project, token)
	if err != nil {
		return Principal{}, err
	}
	if !ok || holder.UserID == "" {
		return Principal{}, fault.Unauthorized()
	}
	p := Principal{kind: person, projectID: project.ID, id: personPrincipal + holder.UserID}
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

// bearerToken returns the token of a Bearer header (RFC 6750, section 2.1);
// the scheme's case does not matter.
func bearerToken(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token = strings.TrimLeft(token, " ")
	return token, token != ""
}
