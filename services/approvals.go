package services

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/catalog/bulk"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

// wireRequests creates the requests of people for servers of the catalog.
func (s *Services) wireRequests() {
	s.Requests = requests.New(s.DB, s.Catalog, s.Audit, now)
	s.Approvals = requests.NewApprovals(s.Requests, s.Catalog, requests.Targets{Project: s.addRequested, View: s.listRequested})
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

// listRequested adds an entry of the catalog to the list with the name.
func (s *Services) listRequested(ctx context.Context, name, entryID string) error {
	lists, err := s.CatalogBulk.Lists(ctx)
	if err != nil {
		return err
	}
	for _, list := range lists {
		if list.Name == name {
			_, err := s.CatalogBulk.Apply(ctx, bulk.Decision{Action: bulk.Approve, IDs: []string{entryID}, View: list.ID})
			return err
		}
	}
	return fault.NotFound("list", sources.Clip(name, sources.MaxName))
}
