// Package published makes the endpoints of published projects rows of the
// catalog.
package published

import (
	"cmp"
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
)

// version is the version of every row: endpoints have none.
const version = "1.0.0"

// Authenticator authenticates callers. Implemented by access.ProjectAuth.
type Authenticator interface {
	Authenticate(ctx context.Context, project *models.Project, toolsetID, authorization string) (access.Principal, error)
}

// Projects returns the rows of published projects.
type Projects struct {
	directory *toolset.Directory
	views     *views.Views
	auth      Authenticator
	public    *url.URL
}

// New returns the published projects of a directory. public is the gateway's
// origin, views and auth decide which tools everyone sees.
func New(directory *toolset.Directory, views *views.Views, auth Authenticator, public *url.URL) *Projects {
	return &Projects{directory: directory, views: views, auth: auth, public: public}
}

// Rows returns a row for the endpoint of every published project and for each of
// its toolsets, by ID. A row has the ID of its project or toolset. It has the
// names of tools only if everyone may use them without sign-in. Endpoints whose
// names don't fit the official registry's format have no row.
func (p *Projects) Rows(ctx context.Context) []*models.CatalogEntry {
	var rows []*models.CatalogEntry
	for _, project := range p.directory.All() {
		if !project.Project.Published {
			continue
		}
		rows = append(rows, p.row(ctx, project, nil))
		for _, t := range project.ToolsetsBySlug() {
			rows = append(rows, p.row(ctx, project, t))
		}
	}
	rows = slices.DeleteFunc(rows, func(e *models.CatalogEntry) bool {
		return !sources.ValidName(e.PublisherName, false) || !sources.ValidName(e.ServerName, true) || len(sources.FullName(e)) > sources.MaxName
	})
	slices.SortFunc(rows, func(a, b *models.CatalogEntry) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

// row returns the row of a project or, with one, of its toolset.
func (p *Projects) row(ctx context.Context, s *toolset.Snapshot, t *models.Toolset) *models.CatalogEntry {
	project := &s.Project
	e := &models.CatalogEntry{
		ID: project.ID, SourceID: models.CatalogSourceGateway, Version: version, PublisherName: Publisher(p.public.Hostname()), PublisherTitle: p.public.Hostname(),
		ServerName: project.Slug, ServerTitle: cmp.Or(project.Name, project.Slug), ServerType: "http", Tags: models.StringList{},
		Verified: true, VerifiedEvidence: "This gateway serves the endpoint", Description: project.Description,
		AuthType: authTypes[project.AuthMode], SecretEnv: models.StringList{}, Status: models.CatalogActive,
		ReadTools: models.StringList{}, WriteTools: models.StringList{}, CreatedAt: project.CreatedAt, UpdatedAt: project.UpdatedAt,
	}
	toolsetSlug, toolsetID := "", ""
	if t != nil {
		toolsetSlug, toolsetID = t.Slug, t.ID
		e.ID, e.ServerName, e.ServerTitle = t.ID, project.Slug+"."+t.Slug, e.ServerTitle+": "+cmp.Or(t.Name, t.Slug)
		e.Description, e.CreatedAt, e.UpdatedAt = cmp.Or(t.Description, e.Description), t.CreatedAt, latest(t.UpdatedAt, e.UpdatedAt)
	}
	if project.AuthMode == models.AuthOAuth {
		e.DynamicRegistration = new(true)
	}
	e.ServerTitle, e.Description = sources.Clean(e.ServerTitle, sources.MaxTitle), sources.Clean(e.Description, sources.MaxDescription)
	at, err := p.views.Endpoint(project.Slug, toolsetSlug)
	if err != nil { // deleted just now; the next change removes the row
		return e
	}
	e.RemoteURL = p.public.String() + at.Path() + "/request"
	e.ToolNames = p.tools(ctx, at, toolsetID)
	return e
}

// authTypes are the AuthType of rows by the mode of their projects.
var authTypes = map[models.AuthMode]string{models.AuthNone: "none", models.AuthAPIKey: "bearer", models.AuthOAuth: "oauth"}

// tools returns the names of the tools that everyone sees at an endpoint.
func (p *Projects) tools(ctx context.Context, at *views.Endpoint, toolsetID string) models.StringList {
	names := models.StringList{}
	if at.Project().AuthMode != models.AuthNone {
		return names
	}
	caller, err := p.auth.Authenticate(ctx, at.Project(), toolsetID, "")
	if err != nil {
		return names
	}
	view, err := p.views.Of(at, caller)
	if err != nil {
		return names
	}
	for _, tool := range view.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Publisher returns the publisher of a gateway in the official registry's form:
// its host in reverse order, such as com.example.gateway. Loopback addresses are
// localhost; other addresses keep their order.
func Publisher(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		if address.IsLoopback() {
			return "localhost"
		}
		return strings.Trim(strings.ReplaceAll(address.WithZone("").String(), ":", "-"), "-")
	}
	labels := strings.Split(strings.ToLower(strings.Trim(host, ".")), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
