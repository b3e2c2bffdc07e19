package services

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/projects"
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
	saved, err := s.Projects.AddServer(ctx, slug, projects.FreeAliasIn(p, e.ServerName), projects.FromCatalog(e, true))
	if err != nil {
		return models.Server{}, err
	}
	return saved.Server, nil
}
