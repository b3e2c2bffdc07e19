package projects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects/programs"
)

// Action is the effect of a plan on one project or server.
type Action string

// The actions of a plan.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionKeep   Action = "keep"
)

// Change is one line of a plan. Server, Toolset and Recipe are empty for the project
// itself. Fields names the fields that an update changes.
type Change struct {
	Action  Action
	Project string
	Server  string
	Group   string // a group of users; Project and Server are empty then
	Toolset string
	Recipe  string
	Fields  []string
}

// Plan is the result of an apply, or of a dry run. Warnings describe the state
// after the apply, whether it changed anything or not. They include those of
// Shared, the declared projects whose endpoint anyone can use with stored
// credentials, and of Missing, the missing secrets of declared servers.
type Plan struct {
	Changes  []Change
	Warnings []string
	Notes    []string // of the declaration
	Shared   []SharedCredentials
	Missing  []MissingSecret
}

// ApplyOptions configure an apply. Prune deletes projects that are not in the
// declaration, groups that are not in its groups if it has any, and servers,
// toolsets and recipes that are not in their declared project. A toolset in use is CONFLICT.
// DryRun
// computes the plan without writing. Servers that a runner's file declares stay.
type ApplyOptions struct {
	Prune, DryRun bool
	// Source is the kind of the operator's file that serve applies, which can
	// declare programs. Others leave it empty.
	Source models.ServerSource
}

// Apply changes the stored state to match the declaration, in one transaction,
// and returns the plan. It writes one audit row per changed project and server.
// On invalid fields it returns VALIDATION_FAILED with their paths and writes
// nothing.
func (s *Store) Apply(ctx context.Context, d *declaration.File, opts ApplyOptions) (Plan, error) {
	w, err := s.write(ctx, declaration.PathInFile, opts.DryRun, func(w *writer) error {
		w.source = opts.Source
		if err := w.groups(d, opts.Prune); err != nil {
			return err
		}
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

// Import is like Apply, but skips invalid servers of a client's configuration
// and adds them to d.Refused. It returns VALIDATION_FAILED with d.Refused if no
// server is left, or if prune would delete a stored server in place of a
// skipped one.
func (s *Store) Import(ctx context.Context, d *declaration.File, opts ApplyOptions) (Plan, error) {
	plan, err := s.Apply(ctx, d, ApplyOptions{Prune: opts.Prune, DryRun: true})
	if err != nil && d.Refuse(fault.From(err).Fields) {
		if len(d.Projects[declaration.DefaultProject].Servers) == 0 {
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

// project creates or updates the project with the slug.
func (w *writer) project(slug string, d *declaration.Project, prune bool) (*models.Project, error) {
	row, err := w.lockProject(slug)
	found := err == nil
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		return nil, err
	}
	now := w.store.now()
	if !found {
		row = models.Project{
			ID: uuid.Must(uuid.NewV7()).String(), Slug: slug, Name: slug, AuthMode: models.AuthAPIKey, OAuthAccess: models.OAuthAnyone,
			CodeModeTimeoutMS: defaultCodeModeTimeoutMS, ToolExposure: models.ExposeFull, ToolNames: models.NamesPrefixed, PersonalKeysMaxDays: defaultPersonalKeyDays,
			RetentionCalls: declaration.DefaultCallDays, RetentionPayloads: declaration.DefaultPayloadDays, RetentionRuns: declaration.DefaultRuns, CreatedAt: now,
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
	if slices.Contains(fields, "limits") && len(row.Limits) > 0 {
		w.isNew["Limits"] = true
	}
	w.noteNew(fields)
	if err := w.servers(&row, d, prune, wasOpen); err != nil {
		return nil, err
	}
	if err := w.recipes(&row, d, prune); err != nil {
		return nil, err
	}
	return &row, w.toolsets(&row, d, prune)
}

// servers creates or updates the declared servers of a project. wasOpen reports
// whether its endpoint had authMode none before.
func (w *writer) servers(project *models.Project, d *declaration.Project, prune, wasOpen bool) error {
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
		fold := declaration.FoldAlias(alias)
		if at := programs.Find(stored, w.source, project.Slug, alias); at >= 0 {
			fold = stored[at].AliasFold // an administrator renamed it
		}
		named[fold] = true
		old, found := byFold[fold]
		row, err := w.server(project, alias, d.Servers[alias], old, found)
		if err != nil {
			return err
		}
		byFold[row.AliasFold] = row
	}
	for _, fold := range slices.Sorted(maps.Keys(byFold)) {
		if row := byFold[fold]; prune && !named[fold] && !w.stays(&row) {
			if err := w.deleteServer(project, &row); err != nil {
				return err
			}
			delete(byFold, fold)
		}
	}
	if len(byFold) > declaration.MaxServers {
		w.problem(project.Slug, "", "mcpServers", fmt.Sprintf("a project can have at most %d servers", declaration.MaxServers))
	}
	w.checkOpen(project, byFold, named)
	w.checkResultLimits(project, byFold, named)
	w.checkPrograms(project, byFold)
	w.noteShared(project, wasOpen, stored, slices.Collect(maps.Values(byFold)))
	return nil
}

// server creates the server with the alias, or updates row if found. A row with
// problems is returned without writing it: the transaction will be rolled back
// with all problems.
func (w *writer) server(project *models.Project, alias string, d *declaration.Server, row models.Server, found bool) (models.Server, error) {
	now := w.store.now()
	if !found {
		row = newServer(project.ID, alias, d, now)
	}
	stored := row
	if !found {
		stored = models.Server{}
	}
	before, overrides := row.Alias, row.ToolOverrides
	own, err := w.fromFile(project, &row, &alias, d, found)
	if err != nil {
		return row, err
	}
	m := w.store.mergeServer(&row, alias, d, allowanceOf(w.tx.Statement.Context, project))
	m.add(own)
	if _, missing := m.problems["url"]; missing && !found && d.URL == nil {
		m.problems["url"] = programs.Absent
	}
	for field, why := range m.problems {
		w.problem(project.Slug, alias, field, why)
	}
	if len(m.problems) > 0 {
		return row, nil
	}
	if m.moved {
		if err := w.noteMoved(project, &row, m); err != nil {
			return row, err
		}
	}
	w.checkServerResultLimit(project, &row)
	if err := w.account(project, &stored, &row, &d.Personal, m); err != nil {
		return row, err
	}
	fields := m.changed
	w.noteMissing(project, &row, m.missing)
	if err := w.warnOverrides(&row); err != nil {
		return row, err
	}
	if found && len(fields) == 0 {
		w.noteServer(ActionKeep, project, &row, nil)
		return row, nil
	}
	w.topics[notify.Toolset(project.ID)] = true
	if slices.Contains(fields, overridesField) && len(row.ToolOverrides) > 0 {
		w.isNew["Overrides"] = true
	}
	w.noteNew(fields)
	if !slices.Equal(fields, []string{overridesField}) || hasOverrideReferences(overrides) || hasOverrideReferences(row.ToolOverrides) {
		row.ConfigVersion++ // other overrides concern no session
	}
	row.UpdatedAt = now
	if !found {
		w.noteServer(ActionCreate, project, &row, nil)
		return row, w.tx.Create(&row).Error
	}
	w.noteServer(ActionUpdate, project, &row, fields)
	if slices.Contains(fields, overridesField) {
		w.noteOverrides(project, &row, overrides)
	}
	if err := w.renameTools(project, before, row.Alias); err != nil {
		return row, err
	}
	if err := w.forgetRevision(row.ID, fields); err != nil {
		return row, err
	}
	return row, w.tx.Save(&row).Error
}

// newServer returns the row of a new server with defaults, including those that
// follow from its declared credentials.
func newServer(projectID, alias string, d *declaration.Server, now time.Time) models.Server {
	row := models.Server{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: projectID, Alias: alias,
		Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, Enabled: true, TimeoutMS: defaultTimeoutMS, MaxConcurrent: defaultConcurrent,
		SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, Connection: models.ConnectionShared, CreatedAt: now,
		ProtocolVersion: models.ProtocolAuto, TaskTimeoutMS: defaultTaskTimeoutMS,
	}
	if d.AuthType == nil && d.AuthBearer != nil && *d.AuthBearer != "" {
		row.AuthType = models.UpstreamAuthBearer
	}
	return row
}

// NewProgram returns the row of a new server that a runner starts, with defaults.
func NewProgram(projectID, alias string, now time.Time) models.Server {
	row := newServer(projectID, alias, &declaration.Server{}, now)
	row.AliasFold, row.UpdatedAt, row.ConfigVersion = declaration.FoldAlias(alias), now, 1
	return row
}

func (w *writer) pruneProjects(d *declaration.File) error {
	var rows []models.Project
	if err := w.tx.Order("slug").Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if d.Projects[row.Slug] != nil {
			continue
		}
		if stays, err := w.projectStays(&row); err != nil || stays {
			if err != nil {
				return err
			}
			continue
		}
		if err := w.deleteProject(&row); err != nil {
			return err
		}
	}
	return nil
}
