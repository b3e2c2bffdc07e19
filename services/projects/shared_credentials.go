package projects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// SharedCredentials describes a project without authentication (authMode none)
// whose servers are called with stored credentials.
type SharedCredentials struct {
	Project string   // slug
	Servers []string // aliases, sorted
}

// String returns the standing warning.
func (c SharedCredentials) String() string {
	return fmt.Sprintf("Project %s has authMode none: anyone who can reach its endpoint uses the credentials of %s.", c.Project, strings.Join(c.Servers, ", "))
}

// WarnShared is the code of the standing warning.
const WarnShared = "SHARED_CREDENTIALS"

// Warning returns the standing warning in the form used in responses.
func (c SharedCredentials) Warning() fault.Warning {
	return fault.Warning{Code: WarnShared, Message: c.String()}
}

// HasCredentials reports whether calls to the server send stored credentials.
func HasCredentials(row models.Server) bool {
	return row.AuthType == models.UpstreamAuthOAuth || row.AuthType == models.UpstreamAuthBearer && row.AuthBearer != "" || hasHeaderValue(row.Headers) || hasQueryValues(row.URL) ||
		row.TLSKey != "" ||
		hasOverrideReferences(row.ToolOverrides)
}

func hasHeaderValue(headers models.StringMap) bool {
	for _, stored := range headers {
		if stored != "" {
			return true
		}
	}
	return false
}

// Shared returns the credentials that a project with these servers shares with
// anyone. ok is false if there are none.
func Shared(project models.Project, servers []models.Server) (c SharedCredentials, ok bool) {
	if project.AuthMode != models.AuthNone {
		return c, false
	}
	c = SharedCredentials{Project: project.Slug, Servers: withCredentials(servers)}
	return c, len(c.Servers) > 0
}

func withCredentials(servers []models.Server) []string {
	var aliases []string
	for _, row := range servers {
		if HasCredentials(row) {
			aliases = append(aliases, row.Alias)
		}
	}
	slices.Sort(aliases)
	return aliases
}

// SharedCredentials returns every project that shares credentials with anyone,
// by slug, for the standing warning.
func (s *Store) SharedCredentials(ctx context.Context) ([]SharedCredentials, error) {
	var open []models.Project
	if err := s.db.WithContext(ctx).Order("slug").Find(&open, "auth_mode = ?", models.AuthNone).Error; err != nil {
		return nil, fault.Internal(err)
	}
	var all []SharedCredentials
	for _, project := range open {
		servers, err := s.Servers(ctx, project.ID)
		if err != nil {
			return nil, err
		}
		if c, ok := Shared(project, servers); ok {
			all = append(all, c)
		}
	}
	return all, nil
}

// noteShared adds the standing warning to the plan, and records it if a
// server's credentials are newly shared.
func (w *writer) noteShared(project *models.Project, wasOpen bool, before, after []models.Server) {
	c, ok := Shared(*project, after)
	if !ok {
		return
	}
	w.plan.Warnings = append(w.plan.Warnings, c.String())
	w.plan.Shared = append(w.plan.Shared, c)
	shared := map[string]bool{} // by server id, because aliases change
	if wasOpen {
		for _, row := range before {
			shared[row.ID] = HasCredentials(row)
		}
	}
	if slices.ContainsFunc(after, func(row models.Server) bool { return HasCredentials(row) && !shared[row.ID] }) {
		w.entries = append(w.entries, activity.Entry{
			Action: "project.credentials_shared", Object: project.Slug, ObjectID: project.ID, Project: project.Slug,
			Detail: map[string]string{"servers": strings.Join(c.Servers, ", ")},
		})
	}
}
