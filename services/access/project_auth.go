package access

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// ProjectAuth admits the clients of project endpoints by the project's
// authMode (specification, "Project authentication").
type ProjectAuth struct{ keys *KeyIndex }

// NewProjectAuth returns a ProjectAuth that knows the keys of the index.
func NewProjectAuth(keys *KeyIndex) *ProjectAuth { return &ProjectAuth{keys: keys} }

// Authenticate proves a caller of the project from its Authorization header.
// Whatever is wrong with the header, the fault is the same UNAUTHORIZED. A
// project whose mode cannot be served admits nobody.
func (a *ProjectAuth) Authenticate(project *models.Project, authorization string) (Principal, error) {
	switch project.AuthMode {
	case models.AuthNone:
		return Principal{kind: anonymous, projectID: project.ID}, nil
	case models.AuthAPIKey:
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
