package projects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

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
// true after the apply, whether it changed anything or not.
type Plan struct {
	Changes  []Change
	Warnings []string
}

// ApplyOptions says how a declaration is applied. Prune deletes projects, and
// servers of named projects, that the declaration does not name; DryRun
// computes the plan and writes nothing.
type ApplyOptions struct{ Prune, DryRun bool }

// errDryRun rolls the transaction of a dry run back.
var errDryRun = errors.New("dry run")

// applyLock is the PostgreSQL advisory lock of an apply: "gwapply" in ASCII.
const applyLock = 0x67776170706c79

// lockApply makes applies on PostgreSQL wait for each other, so that replicas
// which start with the same file create its projects once. A SQLite write
// transaction is alone anyway.
func lockApply(tx *gorm.DB) error {
	if tx.Name() != "postgres" {
		return nil
	}
	return tx.Exec("SELECT pg_advisory_xact_lock(?)", applyLock).Error
}

// Apply makes the stored state match the declaration, in one transaction, and
// returns the plan. It returns VALIDATION_FAILED with the path of every field
// that cannot be used; then nothing was written.
func (s *Store) Apply(ctx context.Context, d *Declaration, opts ApplyOptions) (Plan, error) {
	a := &applier{store: s, problems: map[string]string{}, topics: map[notify.Topic]bool{}}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lockApply(tx); err != nil {
			return err
		}
		a.tx = tx
		for _, slug := range slices.Sorted(maps.Keys(d.Projects)) {
			if err := a.project(slug, d.Projects[slug], opts.Prune); err != nil {
				return err
			}
		}
		if opts.Prune {
			if err := a.pruneProjects(d); err != nil {
				return err
			}
		}
		if len(a.problems) > 0 {
			return fault.Validation(a.problems)
		}
		if opts.DryRun {
			return errDryRun
		}
		return notify.Touch(tx, slices.Sorted(maps.Keys(a.topics))...)
	})
	switch {
	case errors.Is(err, errDryRun):
		return a.plan, nil
	case err != nil:
		return Plan{}, fault.From(err)
	case len(a.topics) == 0:
		return a.plan, nil
	}
	return a.plan, s.feed.Published(ctx, slices.Sorted(maps.Keys(a.topics))...)
}

type applier struct {
	store    *Store
	tx       *gorm.DB
	plan     Plan
	problems map[string]string
	topics   map[notify.Topic]bool
}

func (a *applier) note(action Action, project, server string, fields []string) {
	a.plan.Changes = append(a.plan.Changes, Change{Action: action, Project: project, Server: server, Fields: fields})
}

func (a *applier) project(slug string, d *ProjectDeclaration, prune bool) error {
	var row models.Project
	err := a.tx.Clauses(models.LockRow(a.tx)...).First(&row, "slug = ?", slug).Error
	found := err == nil
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		return err
	}
	now := a.store.now()
	if !found {
		row = models.Project{
			ID: uuid.Must(uuid.NewV7()).String(), Slug: slug, Name: slug, AuthMode: models.AuthAPIKey,
			CodeModeTimeoutMS: defaultCodeModeTimeoutMS, ToolExposure: models.ExposeFull, CreatedAt: now,
		}
	}
	fields := mergeProject(&row, d)
	row.UpdatedAt = now
	switch {
	case !found:
		a.note(ActionCreate, slug, "", nil)
		err = a.tx.Create(&row).Error
	case len(fields) > 0:
		a.note(ActionUpdate, slug, "", fields)
		err = a.tx.Save(&row).Error
	default:
		a.note(ActionKeep, slug, "", nil)
		err = nil
	}
	if err != nil {
		return err
	}
	if !found || len(fields) > 0 {
		a.topics[notify.Toolset(row.ID)] = true
	}
	return a.servers(&row, d, prune)
}

func (a *applier) servers(project *models.Project, d *ProjectDeclaration, prune bool) error {
	stored, err := serversOf(a.tx, project.ID)
	if err != nil {
		return err
	}
	byFold := map[string]models.Server{}
	for _, row := range stored {
		byFold[row.AliasFold] = row
	}
	named, credentials := map[string]bool{}, []string{}
	for _, alias := range slices.Sorted(maps.Keys(d.Servers)) {
		named[foldAlias(alias)] = true
		old, found := byFold[foldAlias(alias)]
		row, err := a.server(project, alias, d.Servers[alias], old, found)
		if err != nil {
			return err
		}
		byFold[row.AliasFold] = row
	}
	for _, fold := range slices.Sorted(maps.Keys(byFold)) {
		row := byFold[fold]
		if prune && !named[fold] {
			a.note(ActionDelete, project.Slug, row.Alias, nil)
			a.topics[notify.Toolset(project.ID)] = true
			if err := a.tx.Delete(&models.Server{}, "id = ?", row.ID).Error; err != nil {
				return err
			}
			delete(byFold, fold)
			continue
		}
		if HasCredentials(row) {
			credentials = append(credentials, row.Alias)
		}
	}
	if len(byFold) > MaxServers {
		a.problems["projects."+project.Slug+".mcpServers"] = fmt.Sprintf("a project holds at most %d servers", MaxServers)
	}
	if project.AuthMode == models.AuthNone && len(credentials) > 0 {
		a.plan.Warnings = append(a.plan.Warnings, fmt.Sprintf(
			"project %s has authMode none: anyone who can reach its endpoint acts with the credentials of %s", project.Slug, strings.Join(credentials, ", ")))
	}
	return nil
}

func (a *applier) server(project *models.Project, alias string, d *ServerDeclaration, row models.Server, found bool) (models.Server, error) {
	now := a.store.now()
	if !found {
		row = models.Server{
			ID: uuid.Must(uuid.NewV7()).String(), ProjectID: project.ID, Alias: alias,
			Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, Enabled: true, TimeoutMS: defaultTimeoutMS,
			SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, CreatedAt: now,
		}
		if d.AuthType == nil && d.AuthBearer != nil && *d.AuthBearer != "" {
			row.AuthType = models.UpstreamAuthBearer
		}
	}
	path := "projects." + project.Slug + ".mcpServers." + alias
	fields, problems := a.store.mergeServer(&row, alias, d)
	for field, why := range problems {
		a.problems[path+"."+field] = why
	}
	if len(problems) > 0 {
		return row, nil // the transaction will be rolled back with every problem listed
	}
	if found && len(fields) == 0 {
		a.note(ActionKeep, project.Slug, alias, nil)
		return row, nil
	}
	a.topics[notify.Toolset(project.ID)] = true
	row.ConfigVersion++
	row.UpdatedAt = now
	if !found {
		a.note(ActionCreate, project.Slug, alias, nil)
		return row, a.tx.Create(&row).Error
	}
	a.note(ActionUpdate, project.Slug, alias, fields)
	return row, a.tx.Save(&row).Error
}

func (a *applier) pruneProjects(d *Declaration) error {
	var rows []models.Project
	if err := a.tx.Order("slug").Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if d.Projects[row.Slug] != nil {
			continue
		}
		a.note(ActionDelete, row.Slug, "", nil)
		for _, topic := range topicsOf(row.ID) {
			a.topics[topic] = true
		}
		if err := a.tx.Delete(&models.Project{}, "id = ?", row.ID).Error; err != nil {
			return err
		}
	}
	return nil
}

// HasCredentials reports whether calls to the server carry credentials of ours.
func HasCredentials(row models.Server) bool {
	return row.AuthType == models.UpstreamAuthOAuth || row.AuthType == models.UpstreamAuthBearer && row.AuthBearer != "" || len(row.Headers) > 0
}
