package services

import (
	"context"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
)

// wireRequests creates the requests of people for servers of the catalog.
func (s *Services) wireRequests() {
	s.Requests = requests.New(s.DB, s.Catalog, s.Audit, now)
	s.Approvals = requests.NewApprovals(s.Requests, s.Catalog, requests.Targets{Project: s.addRequested, View: s.Registries.AddEntry})
}

// addRequested adds a server of the catalog to a project with an unused alias.
func (s *Services) addRequested(ctx context.Context, slug string, e *models.CatalogEntry) (models.Server, error) {
	p, err := s.Directory.Project(slug)
	if err != nil {
		return models.Server{}, err
	}
	alias := projects.FreeAlias(func(alias string) bool {
		return slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.AliasFold == alias })
	}, e.ServerName)
	saved, err := s.Projects.AddServer(ctx, slug, alias, projects.FromCatalog(e, true))
	if err != nil {
		return models.Server{}, err
	}
	return saved.Server, nil
}
