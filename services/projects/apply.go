package projects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Action says what a plan does with one project or server.
type Action string

// The actions of a plan.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionKeep   Action = "keep"
)

// Change is one line of a plan. Server is empty when the line is about the
// project itself; Fields names what an update changes.
type Change struct {
	Action  Action
	Project string
	Server  string
	Fields  []string
}

// Plan is what an apply did, or would do. Warnings are standing: they are
// true after the apply, whether it changed anything or not. They hold those of
// Shared, the declared projects whose endpoint anyone may use with stored
// credentials, and of Missing, the secrets that declared servers lack.
type Plan struct {
	Changes  []Change
	Warnings []string
	Notes    []string // of the declaration
	Shared   []SharedCredentials
	Missing  []MissingSecret
}

// ApplyOptions says how a declaration is applied. Prune deletes projects, and
// servers of named projects, that the declaration does not name; DryRun
// computes the plan and writes nothing.
type ApplyOptions struct{ Prune, DryRun bool }

// Apply makes the stored state match the declaration, in one transaction, and
// returns the plan. It writes one audit row per changed project and server. It
// returns VALIDATION_FAILED with the path of every field that cannot be used;
// then nothing was written.
func (s *Store) Apply(ctx context.Context, d *Declaration, opts ApplyOptions) (Plan, error) {
	w, err := s.write(ctx, pathInFile, opts.DryRun, func(w *writer) error {
		for _, slug := range slices.Sorted(maps.Keys(d.Projects)) {
			if _, err := w.project(slug, d.Projects[slug], opts.Prune); err != nil {
				return err
			}
		}
		if opts.Prune {
			return w.pruneProjects(d)
		}
		return nil
	})
	if w == nil {
		return Plan{}, err
	}
	w.plan.Notes = d.Notes
	return w.plan, err
}

// Import is Apply for a declaration that may be a client's configuration: its
// servers that cannot be stored are left out and added to d.Refused. It returns
// VALIDATION_FAILED with d.Refused when no server is left, or when prune would
// delete what the refused ones stand for.
func (s *Store) Import(ctx context.Context, d *Declaration, opts ApplyOptions) (Plan, error) {
	plan, err := s.Apply(ctx, d, ApplyOptions{Prune: opts.Prune, DryRun: true})
	if err != nil && d.refuse(fault.From(err).Fields) {
		if len(d.Projects[bareProject].Servers) == 0 {
			return Plan{}, fault.Validation(d.Refused)
		}
		plan, err = s.Apply(ctx, d, ApplyOptions{Prune: opts.Prune, DryRun: true})
	}
	switch {
	case err != nil:
		return plan, err
	case opts.Prune && len(d.Refused) > 0:
		return Plan{}, fault.Validation(d.Refused)
	case opts.DryRun:
		return plan, nil
	}
	return s.Apply(ctx, d, opts)
}

// refuse takes the servers out of a client's configuration that have one of
// the problems, and reports whether that resolves all of them.
func (d *Declaration) refuse(problems map[string]string) bool {
	if d.Client == nil || len(problems) == 0 {
		return false
	}
	servers := d.Projects[bareProject].Servers
	left, refused := maps.Clone(servers), maps.Clone(d.Refused)
	for path, why := range problems {
		alias, field := "", ""
		for name := range servers {
			if rest, inside := strings.CutPrefix(path, pathInFile(bareProject, name)+"."); inside && len(name) > len(alias) {
				alias, field = name, rest // aliases may have dots
			}
		}
		if alias == "" {
			return false
		}
		refused[join(d.Client.path(alias), field)] = why
		delete(left, alias)
	}
	d.Projects[bareProject].Servers, d.Refused = left, refused
	return true
}

// pathInFile returns where a declarative file speaks of a project or server.
func pathInFile(slug, alias string) string {
	path := "projects." + slug
	if alias != "" {
		path += ".mcpServers." + alias
	}
	return path
}

// project creates the project with the slug or writes the declaration over it.
func (w *writer) project(slug string, d *ProjectDeclaration, prune bool) (*models.Project, error) {
	row, err := w.lockProject(slug)
	found := err == nil
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		return nil, err
	}
	now := w.store.now()
	if !found {
		row = models.Project{
			ID: uuid.Must(uuid.NewV7()).String(), Slug: slug, Name: slug, AuthMode: models.AuthAPIKey, OAuthAccess: models.OAuthAnyone,
			CodeModeTimeoutMS: defaultCodeModeTimeoutMS, ToolExposure: models.ExposeFull, CreatedAt: now,
		}
	}
	wasOpen := found && row.AuthMode == models.AuthNone
	fields := mergeProject(&row, d)
	switch {
	case !found:
		row.UpdatedAt = now
		w.noteProject(ActionCreate, &row, nil)
		err = w.tx.Create(&row).Error
	case len(fields) > 0:
		row.UpdatedAt = now
		w.noteProject(ActionUpdate, &row, fields)
		err = w.tx.Save(&row).Error
	default:
		w.noteProject(ActionKeep, &row, nil)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if !found || len(fields) > 0 {
		w.topics[notify.Toolset(row.ID)] = true
	}
	return &row, w.servers(&row, d, prune, wasOpen)
}

// servers writes the declared servers of a project. wasOpen says that its
// endpoint was open to anybody before.
func (w *writer) servers(project *models.Project, d *ProjectDeclaration, prune, wasOpen bool) error {
	stored, err := serversOf(w.tx, project.ID)
	if err != nil {
		return err
	}
	byFold := map[string]models.Server{}
	for _, row := range stored {
		byFold[row.AliasFold] = row
	}
	named := map[string]bool{}
	for _, alias := range slices.Sorted(maps.Keys(d.Servers)) {
		named[foldAlias(alias)] = true
		old, found := byFold[foldAlias(alias)]
		row, err := w.server(project, alias, d.Servers[alias], old, found)
		if err != nil {
			return err
		}
		byFold[row.AliasFold] = row
	}
	for _, fold := range slices.Sorted(maps.Keys(byFold)) {
		if row := byFold[fold]; prune && !named[fold] {
			if err := w.deleteServer(project, &row); err != nil {
				return err
			}
			delete(byFold, fold)
		}
	}
	if len(byFold) > MaxServers {
		w.problem(project.Slug, "", "mcpServers", fmt.Sprintf("a project holds at most %d servers", MaxServers))
	}
	w.noteShared(project, wasOpen, stored, slices.Collect(maps.Values(byFold)))
	return nil
}

// server creates the server with the alias, or writes the declaration over the
// row when it was found. A row with problems is returned unwritten: the
// transaction will be rolled back with every problem listed.
func (w *writer) server(project *models.Project, alias string, d *ServerDeclaration, row models.Server, found bool) (models.Server, error) {
	now := w.store.now()
	if !found {
		row = newServer(project.ID, alias, d, now)
	}
	before := row.Alias
	fields, missing, problems := w.store.mergeServer(&row, alias, d)
	for field, why := range problems {
		w.problem(project.Slug, alias, field, why)
	}
	if len(problems) > 0 {
		return row, nil
	}
	w.noteMissing(project, &row, missing)
	if found && len(fields) == 0 {
		w.noteServer(ActionKeep, project, &row, nil)
		return row, nil
	}
	w.topics[notify.Toolset(project.ID)] = true
	row.ConfigVersion++
	row.UpdatedAt = now
	if !found {
		w.noteServer(ActionCreate, project, &row, nil)
		return row, w.tx.Create(&row).Error
	}
	w.noteServer(ActionUpdate, project, &row, fields)
	if err := w.renameTools(project, before, row.Alias); err != nil {
		return row, err
	}
	return row, w.tx.Save(&row).Error
}

// newServer returns the row of a server before anything but what follows from
// the declaration of its credentials is written over it.
func newServer(projectID, alias string, d *ServerDeclaration, now time.Time) models.Server {
	row := models.Server{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: projectID, Alias: alias,
		Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, Enabled: true, TimeoutMS: defaultTimeoutMS, MaxConcurrent: defaultConcurrent,
		SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, CreatedAt: now,
	}
	if d.AuthType == nil && d.AuthBearer != nil && *d.AuthBearer != "" {
		row.AuthType = models.UpstreamAuthBearer
	}
	return row
}

func (w *writer) pruneProjects(d *Declaration) error {
	var rows []models.Project
	if err := w.tx.Order("slug").Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if d.Projects[row.Slug] != nil {
			continue
		}
		if err := w.deleteProject(&row); err != nil {
			return err
		}
	}
	return nil
}
