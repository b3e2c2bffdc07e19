package projects

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

// FromCatalog returns a remote server of the catalog as a declaration.
func FromCatalog(e *models.CatalogEntry, enabled bool) *declaration.Server {
	transport := models.TransportAuto
	if e.ServerType == "sse" {
		transport = models.TransportSSE
	}
	d := &declaration.Server{URL: &e.RemoteURL, Transport: &transport, Enabled: &enabled}
	switch {
	case e.AuthType == "oauth":
		d.AuthType = new(models.UpstreamAuthOAuth)
	case e.AuthType == "bearer", e.AuthType == "header" && strings.EqualFold(e.AuthHeader, "Authorization"):
		d.AuthType = new(models.UpstreamAuthBearer)
	case e.AuthType == "header" && e.AuthHeader != "":
		d.MissingHeaders = []string{e.AuthHeader}
	}
	return d
}

// FromTemplate returns the project of a template: the remote servers among its
// entries. They are on; those that require a key or a sign-in work once they
// have it.
func FromTemplate(t *models.CatalogTemplate, name string, entries []*models.CatalogEntry) *declaration.Project {
	d := &declaration.Project{Name: &name, Description: &t.Description, Servers: map[string]*declaration.Server{}}
	for _, e := range slices.DeleteFunc(slices.Clone(entries), func(e *models.CatalogEntry) bool { return e.RemoteURL == "" }) {
		alias := FreeAlias(func(alias string) bool { return d.Servers[alias] != nil }, e.ServerName)
		d.Servers[alias] = FromCatalog(e, true)
	}
	return d
}
