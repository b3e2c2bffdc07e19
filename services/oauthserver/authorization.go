package oauthserver

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Project is a project that a person may let a client use.
type Project struct {
	ID, Slug, Name string
}

// Authorization is what a client asks a person for.
type Authorization struct {
	ClientID     string
	ClientName   string    // as the client calls itself; may be empty
	ClientHost   string    // that vouches for the client; empty for one that registered itself
	RedirectName string    // where the answer goes
	Local        bool      // the answer goes to a program on the person's computer
	Projects     []Project // one when the client named it, else those to choose from; may be none
	Named        bool      // the client named the project
	Scopes       []string
	Sealed       string // for Decide
	FormSource   string // where the form of the answer may lead, for a Content-Security-Policy
}

// request is a checked authorization request. It travels through the consent
// page, sealed and bound to the browser session that asked for the page.
type request struct {
	Client    string `json:"c"`
	Redirect  string `json:"r"`
	State     string `json:"s,omitempty"`
	HasState  bool   `json:"h,omitempty"`
	Scopes    string `json:"o"`
	Challenge string `json:"p"`
	Project   string `json:"j,omitempty"` // empty when the person chooses
	Person    string `json:"u"`
	Session   string `json:"b"`
	Expires   int64  `json:"e"` // Unix milliseconds
}

// Authorize checks the query of an authorization request (OAuth 2.1, section
// 4.1.1; MCP 2025-11-25, "Authorization") and returns what the person is to be
// asked. Nobody is person nil: then what a stranger may learn is checked, and
// the fault is UNAUTHORIZED, so that the person signs in first. It returns
// INVALID_PARAMETER for a client or redirect URI that cannot be used, for which
// the browser must stay here, and a Denial for all else that is wrong.
func (s *Server) Authorize(ctx context.Context, query url.Values, person *Person) (*Authorization, error) {
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(query[name]) != 1 || query.Get(name) == "" {
			return nil, fault.Invalid("the request must have one %s", name)
		}
	}
	client, err := s.clientFor(ctx, query.Get("client_id"), person)
	if err != nil {
		return nil, err
	}
	redirect, err := parseRedirectURI(query.Get("redirect_uri"))
	if err != nil || !slices.ContainsFunc(client.RedirectURIs, redirect.registeredAs) {
		return nil, fault.Invalid("the client did not register this redirect_uri")
	}
	if person == nil {
		return nil, fault.Unauthorized()
	}
	r := &request{
		Client: client.ID, Redirect: redirect.raw, State: query.Get("state"), HasState: query.Has("state"),
		Person: person.ID, Session: person.SessionID, Expires: s.now().Add(ConsentLife).UnixMilli(),
	}
	projects, err := s.complete(ctx, r, query, person)
	if err != nil {
		return nil, s.deny(redirect, r, err)
	}
	sealed, err := s.seal(r)
	if err != nil {
		return nil, err
	}
	return &Authorization{
		ClientID: client.ID, ClientName: client.Name, ClientHost: hostOf(&client), RedirectName: redirect.name(), Local: redirect.kind != redirectSite,
		Projects: projects, Named: r.Project != "", Scopes: scopeList(r.Scopes), Sealed: sealed, FormSource: redirect.source(),
	}, nil
}

// clientFor returns the client with the id. What a stranger names is never
// fetched, so reading a metadata document takes a person.
func (s *Server) clientFor(ctx context.Context, id string, person *Person) (models.OAuthClient, error) {
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
		return client, fault.Invalid("this client is not known, or no longer: let it register again, by removing its sign-in and connecting anew")
	}
	return client, nil
}

// complete checks the parts of the request whose mistakes the client is told,
// and returns the projects in question.
func (s *Server) complete(ctx context.Context, r *request, query url.Values, person *Person) ([]Project, error) {
	for name, values := range query {
		if len(values) > 1 && name != "resource" {
			return nil, refuse(InvalidRequest, "a parameter is repeated")
		}
	}
	switch {
	case query.Has("request"):
		return nil, refuse(RequestNotSupported, "send plain parameters")
	case query.Has("request_uri"):
		return nil, refuse(RequestURINotSupported, "send plain parameters")
	case query.Get("response_type") == "":
		return nil, refuse(InvalidRequest, "response_type is missing")
	case query.Get("response_type") != "code":
		return nil, refuse(UnsupportedResponseType, "response_type must be code")
	case query.Get("code_challenge") == "":
		return nil, refuse(InvalidRequest, "PKCE is required: code_challenge is missing")
	case query.Get("code_challenge_method") != "S256":
		return nil, refuse(InvalidRequest, "code_challenge_method must be S256")
	}
	r.Challenge = query.Get("code_challenge")
	if len(r.Challenge) != len(challengeOf("")) || !isUnreserved(r.Challenge) {
		return nil, refuse(InvalidRequest, "code_challenge must be the base64url SHA-256 of the verifier, 43 characters")
	}
	var err error
	if r.Scopes, err = parseScopes(query.Get("scope")); err != nil {
		return nil, err
	}
	slug, err := s.oneEndpoint(query["resource"])
	if err != nil {
		return nil, err
	}
	projects, err := s.projectsOf(ctx, person.ID, slug)
	switch {
	case err != nil:
		return nil, err
	case slug == "":
		return projects, nil
	case len(projects) == 0:
		return nil, s.whyNot(ctx, slug)
	}
	r.Project = projects[0].ID
	return projects, nil
}

// oneEndpoint returns the project that all resource indicators name together.
func (s *Server) oneEndpoint(resources []string) (slug string, err error) {
	for i, resource := range resources {
		next, err := s.endpointOf(resource)
		if err != nil {
			return "", err
		}
		if i > 0 && next != slug {
			return "", refuse(InvalidTarget, "a token is for one resource")
		}
		slug = next
	}
	return slug, nil
}

// Projects returns the projects that a user may authorize clients for, by slug,
// at most MaxChoices.
func (s *Server) Projects(ctx context.Context, userID string) ([]Project, error) {
	return s.projectsOf(ctx, userID, "")
}

// projectsOf returns the projects that the person may let clients use, or just
// the one with the slug, by slug.
func (s *Server) projectsOf(ctx context.Context, userID, slug string) ([]Project, error) {
	query := s.db.WithContext(ctx).Table("projects p").Select("p.id, p.slug, p.name").
		Joins("JOIN users u ON u.id = ?", userID).Where(admits).Order("p.slug").Limit(MaxChoices)
	if slug != "" {
		query = query.Where("p.slug = ?", slug)
	}
	var projects []Project
	if err := query.Scan(&projects).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return projects, nil
}

// whyNot returns why a person cannot let a client use the project: it is no
// endpoint for tokens, or not for this person.
func (s *Server) whyNot(ctx context.Context, slug string) error {
	var n int64
	err := s.db.WithContext(ctx).Model(&models.Project{}).Where("slug = ? AND auth_mode = ?", slug, models.AuthOAuth).Count(&n).Error
	switch {
	case err != nil:
		return fault.Internal(err)
	case n == 0:
		return refuse(InvalidTarget, "the resource is not an endpoint with authMode oauth")
	default:
		return refuse(AccessDenied, "this person is not a member of the project")
	}
}

// deny returns the Denial for a refusal; other errors stay what they are.
func (s *Server) deny(redirect redirectURI, r *request, err error) error {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	answer := s.answer(r)
	answer.Set("error", string(refusal.Code))
	answer.Set("error_description", refusal.Description)
	return &Denial{URL: redirect.with(answer), Refusal: refusal}
}

// answer returns what every answer to a client carries (RFC 6749, section
// 4.1.2; RFC 9207, section 2).
func (s *Server) answer(r *request) url.Values {
	answer := url.Values{"iss": {s.Issuer()}}
	if r.HasState {
		answer.Set("state", r.State)
	}
	return answer
}
