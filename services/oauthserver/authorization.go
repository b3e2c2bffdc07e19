package oauthserver

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Project is a project that a user can authorize a client for, or one of its
// toolsets.
type Project struct {
	ID, Slug, Name string
	Toolset        Toolset // zero for the project's endpoint
}

// Toolset is a toolset that a client requested.
type Toolset struct {
	ID, Slug, Name string
}

// Authorization is the content of a consent page.
type Authorization struct {
	ClientID     string
	ClientName   string    // unverified; may be empty
	ClientHost   string    // host of the client's metadata document; empty for registered clients
	RedirectName string    // display name of the redirect target
	Local        bool      // the redirect target is a program on the user's computer
	Projects     []Project // the requested project, or the choices; may be empty
	Named        bool      // the client requested a project or a view
	View         string    // title of the requested view of the catalog, or empty
	Scopes       []string
	Sealed       string // for Decide
	FormSource   string // form-action source of the Content-Security-Policy
}

// request is a validated authorization request. The consent page contains it,
// sealed and bound to the browser session.
type request struct {
	Client    string `json:"c"`
	Redirect  string `json:"r"`
	State     string `json:"s,omitempty"`
	HasState  bool   `json:"h,omitempty"`
	Scopes    string `json:"o"`
	Challenge string `json:"p"`
	Project   string `json:"j,omitempty"` // empty if the user chooses
	Toolset   string `json:"t,omitempty"` // id; empty for the project's endpoint
	View      string `json:"v,omitempty"` // id of a view; the project and the toolset are empty
	Person    string `json:"u"`
	Session   string `json:"b"`
	Expires   int64  `json:"e"` // Unix milliseconds
}

// Authorize validates the query of an authorization request (OAuth 2.1, section
// 4.1.1; MCP 2025-11-25, "Authorization") and returns the content of the
// consent page. Without a person it returns UNAUTHORIZED after the checks that
// need no sign-in. For an invalid client or redirect URI it returns
// INVALID_PARAMETER, and the browser must not be redirected. Other errors of
// the request are a Denial.
func (s *Server) Authorize(ctx context.Context, query url.Values, person *User) (*Authorization, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(query[name]) != 1 || query.Get(name) == "" {
			return nil, fault.Invalid("The request must have exactly one %s.", name)
		}
	}
	client, err := s.clientFor(ctx, query.Get("client_id"), person)
	if err != nil {
		return nil, err
	}
	redirect, err := parseRedirectURI(query.Get("redirect_uri"))
	if err != nil || !slices.ContainsFunc(client.RedirectURIs, redirect.registeredAs) {
		return nil, fault.Invalid("The client did not register this redirect_uri.")
	}
	if person == nil {
		return nil, fault.Unauthorized()
	}
	r := &request{
		Client: client.ID, Redirect: redirect.raw, State: query.Get("state"), HasState: query.Has("state"),
		Person: person.ID, Session: person.SessionID, Expires: s.now().Add(ConsentLife).UnixMilli(),
	}
	found, err := s.complete(ctx, r, query, person)
	if err != nil {
		return nil, s.deny(redirect, r, err)
	}
	sealed, err := s.seal(r)
	if err != nil {
		return nil, err
	}
	return &Authorization{
		ClientID: client.ID, ClientName: client.Name, ClientHost: hostOf(&client), RedirectName: redirect.name(), Local: redirect.kind != redirectSite,
		Projects: found.projects, Named: r.Project != "" || r.View != "", View: found.view, Scopes: scopeList(r.Scopes), Sealed: sealed, FormSource: redirect.source(),
	}, nil
}

// clientFor returns the client with the id. Metadata documents are fetched only
// for signed-in users.
func (s *Server) clientFor(ctx context.Context, id string, person *User) (models.OAuthClient, error) {
	if isDocumentID(id) {
		if err := checkDocumentID(id); err != nil {
			return models.OAuthClient{}, err
		}
		if person == nil {
			return models.OAuthClient{}, fault.Unauthorized()
		}
		return s.documentClient(ctx, id, person.ID)
	}
	client, ok, err := storedClient(s.db.WithContext(ctx), id)
	if err != nil {
		return client, fault.Internal(err)
	}
	if !ok {
		return client, fault.Invalid("Unknown client. Remove its sign-in and reconnect from the client.")
	}
	return client, nil
}

// offered is the choice on the consent page: projects to choose from, or the title
// of a view.
type offered struct {
	projects []Project
	view     string
}

// complete validates the parts of the request whose errors are returned to the
// client, and returns what the consent page offers.
func (s *Server) complete(ctx context.Context, r *request, query url.Values, person *User) (found offered, err error) {
	for name, values := range query {
		if len(values) > 1 && name != "resource" {
			return found, refuse(InvalidRequest, "repeated parameter")
		}
	}
	switch {
	case query.Has("request"):
		return found, refuse(RequestNotSupported, "request objects are not supported")
	case query.Has("request_uri"):
		return found, refuse(RequestURINotSupported, "request objects are not supported")
	case query.Get("response_type") == "":
		return found, refuse(InvalidRequest, "response_type is missing")
	case query.Get("response_type") != "code":
		return found, refuse(UnsupportedResponseType, "response_type must be code")
	case query.Get("code_challenge") == "":
		return found, refuse(InvalidRequest, "PKCE is required: code_challenge is missing")
	case query.Get("code_challenge_method") != "S256":
		return found, refuse(InvalidRequest, "code_challenge_method must be S256")
	}
	r.Challenge = query.Get("code_challenge")
	if len(r.Challenge) != len(challengeOf("")) || !isUnreserved(r.Challenge) {
		return found, refuse(InvalidRequest, "code_challenge must be the base64url SHA-256 of the verifier, 43 characters")
	}
	wanted, err := s.targetOfAll(query["resource"])
	if err != nil {
		return found, err
	}
	if wanted.view != "" {
		return s.completeView(ctx, r, query.Get("scope"), wanted.view)
	}
	if r.Scopes, err = parseScopes(query.Get("scope")); err != nil {
		return found, err
	}
	if wanted.project == "" {
		found.projects, err = s.Projects(ctx, person.ID)
		return found, err
	}
	project, err := s.requested(ctx, person.ID, wanted)
	if err != nil {
		return found, err
	}
	r.Project, r.Toolset, found.projects = project.ID, project.Toolset.ID, []Project{project}
	return found, nil
}

// targetOfAll returns the target of all resource indicators.
func (s *Server) targetOfAll(resources []string) (wanted target, err error) {
	for i, resource := range resources {
		next, err := s.targetOf(resource)
		if err != nil {
			return target{}, err
		}
		if i > 0 && next != wanted {
			return target{}, refuse(InvalidTarget, "only one resource per token is supported")
		}
		wanted = next
	}
	return wanted, nil
}

// Projects returns the projects that a user can authorize clients for, by slug,
// at most MaxChoices.
func (s *Server) Projects(ctx context.Context, userID string) ([]Project, error) {
	var rows []models.Project
	if err := s.db.WithContext(ctx).Order("slug").Find(&rows, "auth_mode = ?", models.AuthOAuth).Error; err != nil {
		return nil, fault.Internal(err)
	}
	var projects []Project
	for _, row := range rows {
		if len(projects) < MaxChoices && !s.rights.Held(&row, userID).None() {
			projects = append(projects, Project{ID: row.ID, Slug: row.Slug, Name: row.Name})
		}
	}
	return projects, nil
}

// requested returns the project of a target, with its toolset. It returns
// invalid_target for an unknown one and access_denied if the user holds nothing
// there.
func (s *Server) requested(ctx context.Context, userID string, wanted target) (Project, error) {
	unknown := refuse(InvalidTarget, "the resource is not an endpoint with authMode oauth")
	var row models.Project
	err := s.db.WithContext(ctx).First(&row, "slug = ? AND auth_mode = ?", wanted.project, models.AuthOAuth).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Project{}, unknown
	}
	if err != nil {
		return Project{}, fault.Internal(err)
	}
	project, held := Project{ID: row.ID, Slug: row.Slug, Name: row.Name}, s.rights.Held(&row, userID)
	if wanted.toolset != "" {
		var toolset models.Toolset
		err := s.db.WithContext(ctx).First(&toolset, "project_id = ? AND slug = ?", row.ID, wanted.toolset).Error
		switch {
		case errors.Is(err, gorm.ErrRecordNotFound):
			return Project{}, unknown
		case err != nil:
			return Project{}, fault.Internal(err)
		case !held.Has(toolset.ID):
			return Project{}, refuse(AccessDenied, "the user may not use the toolset")
		}
		project.Toolset = Toolset{ID: toolset.ID, Slug: toolset.Slug, Name: toolset.Name}
	}
	if held.None() {
		return Project{}, refuse(AccessDenied, "the user is not a member of the project")
	}
	return project, nil
}

// deny converts a Refusal to a Denial. It returns other errors unchanged.
func (s *Server) deny(redirect redirectURI, r *request, err error) error {
	var refusal *ProtocolError
	if !errors.As(err, &refusal) {
		return err
	}
	answer := s.responseParams(r)
	answer.Set("error", string(refusal.Code))
	answer.Set("error_description", refusal.Description)
	return &AuthorizeError{URL: redirect.with(answer), Refusal: refusal}
}

// responseParams returns the common parameters of authorization responses (RFC 6749,
// section 4.1.2; RFC 9207, section 2).
func (s *Server) responseParams(r *request) url.Values {
	answer := url.Values{"iss": {s.Issuer()}}
	if r.HasState {
		answer.Set("state", r.State)
	}
	return answer
}
