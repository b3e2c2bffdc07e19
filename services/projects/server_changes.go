package projects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects/programs"
	"mcpgateway/services/revisions"
	"mcpgateway/services/toolset"
)

// SavedServer is a server after a change, with the slug of its project. Fields
// names the fields that an update changed. Warnings are for the user who made
// the change.
type SavedServer struct {
	Server   models.Server
	Project  string
	Fields   []string
	Warnings []fault.Warning
}

// WarnToolsRenamed is the code of the warning that a new alias renames the
// tools of a server.
const WarnToolsRenamed = "TOOLS_RENAMED"

// pathInServer returns the path of a server in a request for one server, which
// is always empty.
func pathInServer(string, string) string { return "" }

// AddServer adds a server to the project with the slug and records
// server.created. It returns NOT_FOUND for an unknown slug, VALIDATION_FAILED
// with every invalid field, and CONFLICT if the project already has
// declaration.MaxServers servers or, with the field alias, a server with the
// alias.
func (s *Store) AddServer(ctx context.Context, slug, alias string, d *declaration.Server) (SavedServer, error) {
	return s.saveServer(ctx, d, func(w *writer, d *declaration.Server) (saved models.Server, project string, err error) {
		p, err := w.lockProject(slug)
		if err != nil {
			return saved, "", err
		}
		before, err := w.claim(&p, alias, "")
		if err != nil {
			return saved, "", err
		}
		if len(before) >= declaration.MaxServers {
			return saved, "", fault.Conflict("The project has the maximum of %d servers. Delete one first, or use another project.", declaration.MaxServers)
		}
		saved, err = w.server(&p, alias, d, models.Server{}, false)
		w.noteShared(&p, p.AuthMode == models.AuthNone, before, append(slices.Clone(before), saved))
		return saved, p.Slug, err
	})
}

// UpdateServer applies the declaration to the server with the id. Absent fields
// don't change, and a nil alias doesn't either. A new alias renames the
// server's tools; disabled ones stay disabled. It records server.updated with
// the names of changed fields. It returns NOT_FOUND for an unknown id,
// VALIDATION_FAILED with every invalid field, and CONFLICT with the field alias
// if another server of the project has it.
func (s *Store) UpdateServer(ctx context.Context, id string, alias *string, d *declaration.Server) (saved SavedServer, err error) {
	if d.Enabled == nil || *d.Enabled {
		return s.updateServer(ctx, id, alias, d)
	}
	err = models.Essential(s.db, func() (err error) {
		saved, err = s.updateServer(ctx, id, alias, d)
		return err
	})
	return saved, err
}

func (s *Store) updateServer(ctx context.Context, id string, alias *string, d *declaration.Server) (SavedServer, error) {
	return s.saveServer(ctx, d, func(w *writer, d *declaration.Server) (saved models.Server, project string, err error) {
		p, row, err := w.lockServer(id)
		if err != nil {
			return saved, "", err
		}
		name := row.Alias
		if alias != nil {
			name = *alias
		}
		saved, err = w.update(&p, row, name, d)
		return saved, p.Slug, err
	})
}

// update applies a declaration and an alias to a locked server.
func (w *writer) update(project *models.Project, row models.Server, alias string, d *declaration.Server) (models.Server, error) {
	before, err := w.claim(project, alias, row.ID)
	if err != nil {
		return models.Server{}, err
	}
	saved, err := w.server(project, alias, d, row, true)
	after := slices.Clone(before)
	after[slices.IndexFunc(after, func(r models.Server) bool { return r.ID == row.ID })] = saved
	w.noteShared(project, project.AuthMode == models.AuthNone, before, after)
	return saved, err
}

func (s *Store) saveServer(ctx context.Context, d *declaration.Server, save func(*writer, *declaration.Server) (models.Server, string, error)) (SavedServer, error) {
	d, problems := d.Check()
	var row models.Server
	var project string
	w, err := s.write(ctx, pathInServer, false, func(w *writer) (err error) {
		w.problems = problems // together with those found by the database
		row, project, err = save(w, d)
		return err
	})
	if err != nil {
		return SavedServer{}, err
	}
	return SavedServer{Server: row, Project: project, Fields: w.plan.Changes[0].Fields, Warnings: w.allWarnings()}, nil
}

// claim records the problems of an alias for the server with the id, which is
// empty for a new one, and returns the project's servers. It returns CONFLICT
// if another one has the alias.
func (w *writer) claim(project *models.Project, alias, id string) ([]models.Server, error) {
	if why := declaration.CheckAlias(alias); why != "" {
		w.problem(project.Slug, alias, "alias", why)
	}
	rows, err := serversOf(w.tx, project.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.ID != id && row.AliasFold == declaration.FoldAlias(alias) {
			return nil, conflictFault("alias", "The project already has a server %q. Choose another alias. Case is ignored.", row.Alias)
		}
	}
	return rows, nil
}

// DeleteServer deletes the server with the id and its inventory, and records
// server.deleted. It returns NOT_FOUND for an unknown id, and CONFLICT for a server
// that a runner's file declares.
func (s *Store) DeleteServer(ctx context.Context, id string) error {
	return models.Essential(s.db, func() error {
		_, err := s.write(ctx, pathInServer, false, func(w *writer) error {
			project, row, err := w.lockServer(id)
			if err != nil {
				return err
			}
			if programs.IsDeclared(&row) {
				return fault.Conflict("Server %s %s. Remove it there first.", row.Alias, programs.FromFile)
			}
			return w.deleteServer(&project, &row)
		})
		return err
	})
}

func (w *writer) deleteServer(project *models.Project, row *models.Server) error {
	w.noteServer(ActionDelete, project, row, nil)
	w.topics[notify.Toolset(project.ID)] = true
	return w.tx.Delete(&models.Server{}, "id = ?", row.ID).Error
}

// renameTools renames the disabled tools of a server with a new alias, so that
// they stay disabled, and warns about the new names. Equal aliases change
// nothing.
func (w *writer) renameTools(project *models.Project, from, to string) error {
	if from == to {
		return nil
	}
	w.warnings = append(w.warnings, fault.Warning{Code: WarnToolsRenamed, Message: fmt.Sprintf(
		"The server's tools are now named %s%s…. Calls to %s%s… fail with TOOL_NOT_FOUND.", to, toolset.Separator, from, toolset.Separator)})
	names := slices.Clone(project.DisabledTools)
	for i, name := range names {
		if tool, of := strings.CutPrefix(name, from+toolset.Separator); of {
			names[i] = to + toolset.Separator + tool
		}
	}
	if names = sorted(names); slices.Equal(names, project.DisabledTools) {
		return nil
	}
	return w.tx.Model(project).Update("disabled_tools", names).Error
}

// forgetRevision deletes the protocol revision that was learned about a server if
// one of the changed fields decides about the revision.
func (w *writer) forgetRevision(serverID string, changed []string) error {
	if !slices.ContainsFunc(changed, func(field string) bool {
		return slices.Contains([]string{"url", "transport", "protocolVersion", "source"}, field)
	}) {
		return nil
	}
	topic, err := revisions.Clear(w.tx, serverID)
	if topic != "" {
		w.topics[topic] = true
	}
	return err
}

// TouchesCredentials reports whether saving the declaration changes which
// credentials are sent to the server, or sends stored ones to another address.
// The zero row means a new server. Such edits should require the user to
// authenticate again.
func TouchesCredentials(row models.Server, d *declaration.Server) bool {
	secret := func(stored string, declared *string) bool {
		return declared != nil && (*declared != "" || stored != "")
	}
	authType := row.AuthType
	if authType == "" {
		authType = models.UpstreamAuthNone
	}
	switch {
	case d.AuthType != nil && *d.AuthType != authType,
		d.Connection != nil && (*d.Connection == models.ConnectionPersonal) != row.IsPersonal(),
		secret(row.AuthBearer, d.AuthBearer), len(d.Headers) > 0,
		d.OAuthClientID != nil && *d.OAuthClientID != row.OAuthClientID,
		secret(row.OAuthClientSecret, d.OAuthClientSecret), secret(row.OAuthPrivateKey, d.OAuthPrivateKey),
		d.ForwardHeaders != nil && len(d.ForwardHeaders)+len(row.ForwardHeaders) > 0,
		secret(row.TLSKey, d.TLSKey), differs(row.TLSAuthority, d.TLSAuthority), differs(row.TLSCert, d.TLSCert),
		differs(row.OAuthGrant, d.OAuthGrant), differs(row.OAuthClientAuth, d.OAuthClientAuth),
		differs(row.OAuthTokenURL, d.OAuthTokenURL), differs(row.OAuthAudience, d.OAuthAudience), differs(row.OAuthKeyID, d.OAuthKeyID),
		d.ToolOverrides != nil && hasOverrideReferences(*d.ToolOverrides):
		return true
	}
	return d.URL != nil && *d.URL != row.URL && (HasCredentials(row) || hasQueryValues(*d.URL))
}

// differs reports whether a declared value differs from the stored one.
func differs[T comparable](stored T, declared *T) bool { return declared != nil && *declared != stored }
