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
	"mcpgateway/services/toolset"
)

// SavedServer is a server as a change left it, with the slug of its project.
// Fields names what an update changed; Warnings are for whoever made the
// change.
type SavedServer struct {
	Server   models.Server
	Project  string
	Fields   []string
	Warnings []fault.Warning
}

// WarnToolsRenamed is the code of the warning that a new alias gives the tools
// of a server new names.
const WarnToolsRenamed = "TOOLS_RENAMED"

// pathInServer returns where the body of a request for one server speaks of
// it: everywhere.
func pathInServer(string, string) string { return "" }

// AddServer adds a server to the project with the slug and records
// server.created. It returns NOT_FOUND for an unknown slug, VALIDATION_FAILED
// with every field that cannot be used, and CONFLICT when the project has
// declaration.MaxServers servers or, with the field alias, one of that alias.
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
			return saved, "", fault.Conflict("the project holds %d servers, which is the most: delete one first, or use another project", declaration.MaxServers)
		}
		saved, err = w.server(&p, alias, d, models.Server{}, false)
		w.noteShared(&p, p.AuthMode == models.AuthNone, before, append(slices.Clone(before), saved))
		return saved, p.Slug, err
	})
}

// UpdateServer writes the declaration over the server with the id; what it
// does not name stays, and so does the alias when it is nil. A new alias
// renames the server's tools, and those that are switched off stay so. It
// records server.updated with the names of what changed. It returns NOT_FOUND
// for an unknown id, VALIDATION_FAILED with every field that cannot be used,
// and CONFLICT with the field alias when another server of the project has it.
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
		before, err := w.claim(&p, name, id)
		if err != nil {
			return saved, "", err
		}
		saved, err = w.server(&p, name, d, row, true)
		after := slices.Clone(before)
		after[slices.IndexFunc(after, func(r models.Server) bool { return r.ID == id })] = saved
		w.noteShared(&p, p.AuthMode == models.AuthNone, before, after)
		return saved, p.Slug, err
	})
}

func (s *Store) saveServer(ctx context.Context, d *declaration.Server, save func(*writer, *declaration.Server) (models.Server, string, error)) (SavedServer, error) {
	d, problems := d.Check()
	var row models.Server
	var project string
	w, err := s.write(ctx, pathInServer, false, func(w *writer) (err error) {
		w.problems = problems // with those that the database decides
		row, project, err = save(w, d)
		return err
	})
	if err != nil {
		return SavedServer{}, err
	}
	return SavedServer{Server: row, Project: project, Fields: w.plan.Changes[0].Fields, Warnings: w.allWarnings()}, nil
}

// claim notes what is wrong with an alias for the server with the id, which is
// empty for a new one, and returns the servers that the project has. It
// returns CONFLICT when another of them has the alias.
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
			return nil, taken("alias", "the project has a server %q already, and aliases are unique ignoring case", row.Alias)
		}
	}
	return rows, nil
}

// DeleteServer deletes the server with the id with everything that syncs
// learned of it, and records server.deleted. It returns NOT_FOUND for an
// unknown id.
func (s *Store) DeleteServer(ctx context.Context, id string) error {
	return models.Essential(s.db, func() error {
		_, err := s.write(ctx, pathInServer, false, func(w *writer) error {
			project, row, err := w.lockServer(id)
			if err != nil {
				return err
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

// renameTools keeps the tools of a server that gets another alias switched off
// that were, and warns that all have new names. Equal aliases change nothing.
func (w *writer) renameTools(project *models.Project, from, to string) error {
	if from == to {
		return nil
	}
	w.warnings = append(w.warnings, fault.Warning{Code: WarnToolsRenamed, Message: fmt.Sprintf(
		"the server's tools are now called %s%s…: calls of %s%s… are answered TOOL_NOT_FOUND", to, toolset.Separator, from, toolset.Separator)})
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

// TouchesCredentials reports whether saving the declaration over the row
// changes which credentials are sent to the server, or sends those that are
// stored to another address. The zero row stands for a new server. Edits that
// do so are worth asking again who makes them.
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
		secret(row.AuthBearer, d.AuthBearer), len(d.Headers) > 0,
		d.OAuthClientID != nil && *d.OAuthClientID != row.OAuthClientID,
		secret(row.OAuthClientSecret, d.OAuthClientSecret):
		return true
	}
	return d.URL != nil && *d.URL != row.URL && (HasCredentials(row) || hasQueryValues(*d.URL))
}
