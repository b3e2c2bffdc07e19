// Package oauth serves the authorization server for MCP clients of projects
// with authMode oauth, and its discovery documents.
package oauth

import (
	"cmp"
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/toolset/views"
)

// Endpoints returns the endpoint of a project or of its toolset. Implemented by
// views.Views.
type Endpoints interface {
	Endpoint(projectSlug, toolsetSlug string) (*views.Endpoint, error)
}

// Registries returns the gated views of the catalog. Implemented by
// oauthserver.Server.
type Registries interface {
	// GatedView returns NOT_FOUND for an unknown and for a public view.
	GatedView(ctx context.Context, name string) (models.CatalogView, error)
}

// Metadata serves the discovery documents.
type Metadata struct {
	issuer     string
	endpoints  Endpoints
	registries Registries
}

// NewMetadata returns the handlers. publicURL is the gateway's origin.
func NewMetadata(publicURL *url.URL, endpoints Endpoints, registries Registries) *Metadata {
	return &Metadata{issuer: publicURL.String(), endpoints: endpoints, registries: registries}
}

// protectedResource is the metadata of an endpoint (RFC 9728, section 2).
type protectedResource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// ProtectedResource serves
// /.well-known/oauth-protected-resource/v1/mcp/:projectSlug/:endpoint, and the
// same for toolsets (RFC 9728, section 3.1), for projects with authMode oauth,
// and 404 for all others.
// The origin has none, because clients would use the origin as the resource.
func (m *Metadata) ProtectedResource(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodGet); done {
		return err
	}
	slug, endpoint := c.Params("projectSlug"), c.Params("endpoint")
	at, err := m.endpoints.Endpoint(slug, c.Params("toolset"))
	if err != nil {
		return err
	}
	if at.Project().AuthMode != models.AuthOAuth || endpoint != "request" && endpoint != "sse" {
		return fault.NotFound("protected resource", slug)
	}
	name := cmp.Or(at.Project().Name, slug)
	if t := at.Toolset(); t != nil {
		name += ", " + cmp.Or(t.Name, t.Slug)
	}
	return c.JSON(protectedResource{
		Resource: m.issuer + at.Path() + "/" + endpoint, AuthorizationServers: []string{m.issuer},
		Scopes: []string{string(access.ScopeRead), string(access.ScopeCall)}, BearerMethods: []string{"header"}, Name: name,
	})
}

// View serves /.well-known/oauth-protected-resource/views/:view (RFC 9728,
// section 3.1) for gated views of the catalog, and 404 for all others.
func (m *Metadata) View(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodGet); done {
		return err
	}
	view, err := m.registries.GatedView(c.UserContext(), c.Params("view"))
	if err != nil {
		return err
	}
	return c.JSON(protectedResource{
		Resource: m.issuer + "/views/" + view.Name, AuthorizationServers: []string{m.issuer},
		Scopes: []string{string(access.ScopeCatalog)}, BearerMethods: []string{"header"}, Name: view.Title,
	})
}

// authorizationServer is the metadata of this server (RFC 8414, section 2, and
// its extensions).
type authorizationServer struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	Scopes                []string `json:"scopes_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	AnswersWithIssuer     bool     `json:"authorization_response_iss_parameter_supported"`
}

// AuthorizationServer serves /.well-known/oauth-authorization-server (RFC 8414,
// section 3; RFC 9207, section 3; client id metadata documents).
func (m *Metadata) AuthorizationServer(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodGet); done {
		return err
	}
	methods := []string{string(models.AuthMethodNone), string(models.AuthMethodBasic), string(models.AuthMethodPost)}
	return c.JSON(authorizationServer{
		Issuer: m.issuer, AuthorizationEndpoint: m.issuer + "/oauth/authorize", TokenEndpoint: m.issuer + "/oauth/token",
		RegistrationEndpoint: m.issuer + "/oauth/register", RevocationEndpoint: m.issuer + "/oauth/revoke",
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ChallengeMethods: []string{"S256"}, TokenAuthMethods: methods, RevocationAuthMethods: methods, Scopes: append(oauthserver.Scopes(), string(access.ScopeCatalog)),
		ClientDocuments: true, AnswersWithIssuer: true,
	})
}
