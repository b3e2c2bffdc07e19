package projects

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
)

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("dry run")

// lockWrites serializes changes, so that replicas that start with the same file
// create its projects once.
func lockWrites(tx *gorm.DB) error { return locks.InTransaction(tx, "projects") }

// writer is one transaction over projects and servers, with its changes. It
// writes its audit rows and topics at the end, because both block other
// writers.
type writer struct {
	store    *Store
	tx       *gorm.DB
	path     func(slug, alias string) string // path of a problem in the caller's document
	plan     Plan
	warnings []fault.Warning // of this change, in addition to the standing ones
	problems map[string]string
	topics   map[notify.Topic]bool
	entries  []activity.Entry
	source   models.ServerSource // of ApplyOptions
	isNew    map[string]bool     // changed settings that older replicas ignore, in words
}

// write runs work in one transaction. If work recorded problems, it returns
// VALIDATION_FAILED with all of them. Then, and in a dry run, nothing is
// written.
func (s *Store) write(ctx context.Context, path func(slug, alias string) string, dryRun bool, work func(*writer) error) (*writer, error) {
	w := &writer{store: s, path: path, problems: map[string]string{}, topics: map[notify.Topic]bool{}, isNew: map[string]bool{}}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lockWrites(tx); err != nil {
			return err
		}
		w.tx = tx
		if err := work(w); err != nil {
			return err
		}
		if len(w.problems) > 0 {
			return fault.Validation(w.problems)
		}
		if err := w.warnOlder(); err != nil {
			return err
		}
		if dryRun {
			return errDryRun
		}
		if err := s.audit.RecordAll(tx, w.entries); err != nil {
			return err
		}
		return notify.Touch(tx, slices.Sorted(maps.Keys(w.topics))...)
	})
	switch {
	case errors.Is(err, errDryRun):
		return w, nil
	case err != nil:
		return nil, fault.From(err)
	case len(w.topics) == 0:
		return w, nil
	}
	return w, s.feed.Publish(ctx, slices.Sorted(maps.Keys(w.topics))...)
}

// newSettings are the declarative names of settings that older replicas ignore.
var newSettings = []string{"toolNames", "validateArguments", "resultLimit", "instructions", "icon", "websiteUrl", "serverCard", "published", "protocolVersion", "taskTimeout"}

// noteNew records whether changed fields have settings that older replicas ignore.
func (w *writer) noteNew(fields []string) {
	if slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(newSettings, f) }) {
		w.isNew["New settings"] = true
	}
}

// warnOlder warns about changed settings that an older replica ignores.
func (w *writer) warnOlder() error {
	if len(w.isNew) == 0 {
		return nil
	}
	found, err := notify.OlderReplicas(w.tx)
	if err != nil || !found {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(w.isNew)) {
		warning := notify.OlderReplicasWarning(what)
		w.warnings = append(w.warnings, warning)
		w.plan.Warnings = append(w.plan.Warnings, warning.Message)
	}
	return nil
}

// lockProject reads the project with the slug and locks it for other writers.
func (w *writer) lockProject(slug string) (models.Project, error) {
	var row models.Project
	err := w.tx.Clauses(models.LockRow(w.tx)...).First(&row, "slug = ?", slug).Error
	if err == nil {
		return row, w.checkReach(&row, "project", slug)
	}
	return row, notFound(err, "project", slug)
}

// lockServer reads the server with the id and its project, and locks both for
// other writers.
func (w *writer) lockServer(id string) (models.Project, models.Server, error) {
	var project models.Project
	var row models.Server
	err := w.tx.Clauses(models.LockRow(w.tx)...).First(&project, "id = (SELECT project_id FROM servers WHERE id = ?)", id).Error
	if err == nil {
		err = w.tx.Clauses(models.LockRow(w.tx)...).First(&row, "id = ?", id).Error
	}
	if err == nil {
		return project, row, w.checkReach(&project, "server", id)
	}
	return project, row, notFound(err, "server", id)
}

// problem records a problem of a field of a project, or of the server with the
// alias.
func (w *writer) problem(slug, alias, field, why string) {
	w.problems[declaration.Join(w.path(slug, alias), field)] = why
}

// pastTense maps actions to their past tense in the audit log.
var pastTense = map[Action]string{ActionCreate: "created", ActionUpdate: "updated", ActionDelete: "deleted"}

// noteProject adds an action on a project to the plan and, unless it is a
// no-op, to the audit log: only the names of fields, never values.
func (w *writer) noteProject(action Action, row *models.Project, fields []string) {
	w.plan.Changes = append(w.plan.Changes, Change{Action: action, Project: row.Slug, Fields: fields})
	if action != ActionKeep {
		w.record("project."+pastTense[action], row.Slug, row.ID, row.Slug, fields)
	}
}

// noteServer is noteProject for a server. Changed overrides have their own entry in
// the audit log.
func (w *writer) noteServer(action Action, project *models.Project, row *models.Server, fields []string) {
	w.plan.Changes = append(w.plan.Changes, Change{Action: action, Project: project.Slug, Server: row.Alias, Fields: fields})
	if recorded := without(fields, overridesField); action != ActionKeep && (len(recorded) > 0 || len(fields) == 0) {
		w.record("server."+pastTense[action], row.Alias, row.ID, project.Slug, recorded)
	}
}

// noteToolset is noteProject for a toolset, whose changes its writer records.
func (w *writer) noteToolset(action Action, project *models.Project, slug string, fields []string) {
	w.plan.Changes = append(w.plan.Changes, Change{Action: action, Project: project.Slug, Toolset: slug, Fields: fields})
}

func (w *writer) record(action, object, id, slug string, fields []string) {
	e := activity.Entry{Action: action, Object: object, ObjectID: id, Project: slug}
	if len(fields) > 0 {
		e.Detail = map[string]string{"fields": strings.Join(fields, ", ")}
	}
	w.entries = append(w.entries, e)
}
