package requests

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Targets add servers of the catalog to where people use them.
type Targets struct {
	// Project adds a server to the project with the slug and returns it.
	Project func(ctx context.Context, slug string, e *models.CatalogEntry) (models.Server, error)
	// View adds an entry to the list with the name.
	View func(ctx context.Context, name, entryID string) error
}

// Approvals add the requested servers. They use the requests of a store.
type Approvals struct {
	store   *Store
	catalog Catalog
	targets Targets
}

// NewApprovals returns approvals of the requests in store.
func NewApprovals(store *Store, catalog Catalog, targets Targets) *Approvals {
	return &Approvals{store: store, catalog: catalog, targets: targets}
}

// Approval is the approval of the actor of the context. Exactly one of Project and View is set.
type Approval struct {
	Project string // slug of the project to which the server is added
	View    string // name of the list to which the entry is added
	Answer  string // may be empty
}

// Approve adds the requested server to a project or a view and marks the request
// as approved. The server is that of the project, or the zero value. It returns
// NOT_FOUND, CONFLICT for a decided request, VALIDATION_FAILED for a wrong target,
// and the errors of adding a server; then the request stays open.
func (a *Approvals) Approve(ctx context.Context, id string, approval Approval) (models.CatalogRequest, models.Server, error) {
	row, err := a.store.Get(ctx, id)
	if err != nil {
		return row, models.Server{}, fault.From(err)
	}
	if err := CheckOpen(&row); err != nil {
		return row, models.Server{}, err
	}
	if (approval.Project == "") == (approval.View == "") {
		return row, models.Server{}, fault.Validation(map[string]string{"project": "choose either a project or a view"})
	}
	if _, err := text("answer", approval.Answer); err != nil {
		return row, models.Server{}, err
	}
	entry, err := a.catalog.Entry(row.EntryID)
	if err != nil {
		return row, models.Server{}, err
	}
	var server models.Server
	decision := Decision{Answer: approval.Answer, Target: "view " + approval.View}
	if approval.View != "" {
		err = a.targets.View(ctx, approval.View, entry.ID)
	} else {
		decision.Target = "project " + approval.Project
		server, err = a.addToProject(ctx, approval.Project, entry)
	}
	if err != nil {
		return row, server, err
	}
	row, err = a.store.Approve(ctx, id, decision)
	return row, server, err
}

func (a *Approvals) addToProject(ctx context.Context, slug string, entry *models.CatalogEntry) (models.Server, error) {
	if entry.RemoteURL == "" {
		return models.Server{}, fault.Validation(map[string]string{
			"project": "it runs as a program: add it to the file of a runner, or approve it into a view",
		})
	}
	return a.targets.Project(ctx, slug, entry)
}
