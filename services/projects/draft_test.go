package projects_test

import (
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

func TestDraftMatchesAddServer(t *testing.T) {
	s := sqliteStore(t)
	url, token := "https://mcp.example.com/mcp", "plain-token"
	row, err := s.Draft(t.Context(), &models.Project{}, "docs", &declaration.Server{URL: &url, AuthBearer: &token, Headers: map[string]string{"x-key": "plain-key"}})
	if err != nil {
		t.Fatal(err)
	}
	if row.ID == "" || row.Alias != "docs" || row.URL != url || row.AuthType != models.UpstreamAuthBearer || !row.Enabled || row.TimeoutMS != 60_000 {
		t.Errorf("draft = %+v", row)
	}
	for where, stored := range map[string]string{"the token": row.AuthBearer, "the header": row.Headers["X-Key"]} {
		if stored == "" || strings.Contains(stored, "plain") {
			t.Errorf("%s in the draft = %q, want it sealed", where, stored)
		}
	}
	var servers int64
	if err := s.db.Model(&models.Server{}).Count(&servers).Error; err != nil || servers != 0 {
		t.Errorf("%d servers stored (%v), want none", servers, err)
	}
	if topics := s.feed.take(); len(topics) != 0 {
		t.Errorf("the draft was published: %v", topics)
	}
}

func TestDraftReportsEveryProblem(t *testing.T) {
	s := sqliteStore(t)
	url, token := "", "${HOME}"
	_, err := s.Draft(t.Context(), &models.Project{}, "gateway", &declaration.Server{URL: &url, AuthBearer: &token})
	wantProblem(t, err, "reserved", "alias", "url", "authBearer")
}
