package routestest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/notify"
)

// Toolset creates a toolset of a project and returns its ID. The row needs a
// slug and the rules of its members.
func (a *App) Toolset(t testing.TB, slug string, row models.Toolset) (id string) {
	t.Helper()
	row.ID, row.ProjectID, row.CreatedAt = uuid.NewString(), a.projectID(t, slug), time.Now().UTC()
	row.UpdatedAt = row.CreatedAt
	a.write(t, notify.Toolset(row.ProjectID), &row)
	return row.ID
}

// Bind limits a key of a project to toolsets.
func (a *App) Bind(t testing.TB, slug, keyID string, toolsetIDs ...string) {
	t.Helper()
	db := a.Services.DB
	if err := db.Delete(&models.KeyToolset{}, "key_id = ?", keyID).Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Model(&models.Key{}).Where("id = ?", keyID).Update("scope", models.KeyToolsets).Error; err != nil {
		t.Fatal(err)
	}
	rows := make([]any, len(toolsetIDs))
	for i, id := range toolsetIDs {
		rows[i] = &models.KeyToolset{KeyID: keyID, ToolsetID: id}
	}
	a.write(t, notify.Keys(a.projectID(t, slug)), rows...)
}

// Own stores a person as the owner of a key of a project, which then allows
// personal keys.
func (a *App) Own(t testing.TB, slug, keyID, userID string) {
	t.Helper()
	project := a.projectID(t, slug)
	if err := a.Services.DB.Model(&models.Project{}).Where("id = ?", project).Update("personal_keys_enabled", true).Error; err != nil {
		t.Fatal(err)
	}
	if err := a.Services.DB.Model(&models.Key{}).Where("id = ?", keyID).Update("user_id", userID).Error; err != nil {
		t.Fatal(err)
	}
	a.write(t, notify.Toolset(project))
	a.write(t, notify.Keys(project))
}

// Grant stores a grant of a project, without a toolset one of the whole project,
// and returns its ID.
func (a *App) Grant(t testing.TB, slug string, row models.ProjectGrant) (id string) {
	t.Helper()
	row.ID, row.ProjectID, row.CreatedAt = uuid.NewString(), a.projectID(t, slug), time.Now().UTC()
	a.write(t, notify.Access(row.ProjectID), &row)
	return row.ID
}

// Withdraw deletes a grant.
func (a *App) Withdraw(t testing.TB, slug, id string) {
	t.Helper()
	if err := a.Services.DB.Delete(&models.ProjectGrant{}, "id = ?", id).Error; err != nil {
		t.Fatal(err)
	}
	a.write(t, notify.Access(a.projectID(t, slug)))
}

// write creates rows and applies the change of the topic in this process.
func (a *App) write(t testing.TB, topic notify.Topic, rows ...any) {
	t.Helper()
	for _, row := range rows {
		if err := a.Services.DB.Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := notify.Touch(a.Services.DB, topic); err != nil {
		t.Fatal(err)
	}
	s := a.Services
	for _, changed := range []func(context.Context, notify.Topic) error{s.Directory.Changed, s.KeyIndex.Changed, s.Rights.Changed, s.Subscriptions.Changed} {
		if err := changed(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *App) projectID(t testing.TB, slug string) string {
	t.Helper()
	p, err := a.Services.Directory.Project(slug)
	if err != nil {
		t.Fatal(err)
	}
	return p.Project.ID
}
