package access

import (
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// ProjectAuth admits the clients of project endpoints by the project's
// authMode (specification, "Project authentication").
type ProjectAuth struct {
	keys     *KeyIndex
	fresh    func() time.Time
	maxStale time.Duration
	now      func() time.Time
}

// NewProjectAuth returns a ProjectAuth that knows the keys of the index.
// fresh tells when this process last knew that it had heard of every change;
// longer than maxStale after that, projects with access control are closed.
func NewProjectAuth(keys *KeyIndex, fresh func() time.Time, maxStale time.Duration, now func() time.Time) *ProjectAuth {
	return &ProjectAuth{keys: keys, fresh: fresh, maxStale: maxStale, now: now}
}

// Authenticate proves a caller of the project from its Authorization header.
// Whatever is wrong with the header, the fault is the same UNAUTHORIZED. It
// returns UNAVAILABLE while revocations may not have been heard of. A project
// whose mode cannot be served admits nobody.
func (a *ProjectAuth) Authenticate(project *models.Project, authorization string) (Principal, error) {
	switch project.AuthMode {
	case models.AuthNone:
		return Principal{kind: anonymous, projectID: project.ID}, nil
	case models.AuthAPIKey:
		if a.now().Sub(a.fresh()) > a.maxStale {
			return Principal{}, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "this replica has lost touch with the database and cannot check keys")
		}
		token, ok := bearerToken(authorization)
		if !ok {
			return Principal{}, fault.Unauthorized()
		}
		k := a.keys.find(project.ID, token)
		if k == nil {
			return Principal{}, fault.Unauthorized()
		}
		return Principal{kind: keyHolder, projectID: project.ID, id: k.id}, nil
	default:
		return Principal{}, fault.Unauthorized()
	}
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
