// Package card serves the Server Cards of endpoints (SEP-2127, schema v2).
package card

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset/views"
)

const (
	schema    = "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json"
	mediaType = "application/mcp-server-card+json"
	// maxText is the maximum length of a title and a description in characters,
	// by the schema.
	maxText = 100
)

// Endpoints returns the endpoint of a project or of its toolset. Implemented by
// views.Views.
type Endpoints interface {
	Endpoint(projectSlug, toolsetSlug string) (*views.Endpoint, error)
}

// Cards serves the Server Cards.
type Cards struct {
	publicURL *url.URL
	version   string
	endpoints Endpoints
}

// New returns the handler. publicURL is the gateway's origin, version that of the
// gateway.
func New(publicURL *url.URL, version string, endpoints Endpoints) *Cards {
	return &Cards{publicURL: publicURL, version: version, endpoints: endpoints}
}

// serverCard is a Server Card.
type serverCard struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Title       string   `json:"title,omitempty"`
	Remotes     []remote `json:"remotes"`
}

// remote is an address of the server.
type remote struct {
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Headers  []header `json:"headers,omitempty"`
	Versions []string `json:"supportedProtocolVersions"`
}

// header is a request header that users enter.
type header struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	IsRequired  bool   `json:"isRequired"`
	IsSecret    bool   `json:"isSecret"`
}

// Serve serves GET /v1/mcp/:projectSlug/request/server-card, and the same for
// toolsets, without authentication. It returns NOT_FOUND unless the project has
// serverCard on.
func (s *Cards) Serve(c *fiber.Ctx) error {
	slug := c.Params("projectSlug")
	at, err := s.endpoints.Endpoint(slug, c.Params("toolset"))
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		return err
	}
	if err != nil || !at.Project().ServerCard {
		return fault.NotFound("Server Card", slug)
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return c.JSON(s.of(at), mediaType)
}

// of returns the card of an endpoint.
func (s *Cards) of(at *views.Endpoint) serverCard {
	project := at.Project()
	name, title, description := project.Slug, project.Name, project.Description
	if t := at.Toolset(); t != nil {
		name += "." + t.Slug
		title = cmp.Or(title, project.Slug) + ", " + cmp.Or(t.Name, t.Slug)
		description = cmp.Or(t.Description, description)
	}
	versions := gateway.Versions()
	slices.Reverse(versions)
	to := remote{Type: "streamable-http", URL: s.publicURL.String() + at.Path() + "/request", Versions: versions}
	if project.AuthMode == models.AuthAPIKey {
		to.Headers = []header{{Name: "Authorization", Description: "Bearer and a key of the project", IsRequired: true, IsSecret: true}}
	}
	return serverCard{
		Schema: schema, Name: reversed(s.publicURL.Hostname()) + "/" + name, Version: s.version,
		Description: clip(cmp.Or(oneLine(description), title, project.Slug)), Title: clip(title), Remotes: []remote{to},
	}
}

// reversed returns a host name with its labels in reverse order. IP addresses keep
// their order; in IPv6 addresses, hyphens replace the colons, which names can't
// contain.
func reversed(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		host, _, _ = strings.Cut(host, "%")
		return strings.ReplaceAll(host, ":", "-")
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip returns a text of at most maxText characters.
func clip(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return text
}
