package routes_test

import (
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
)

// TestDeniedRequestsAreAudited sends users to routes that their role doesn't
// allow. Each user leaves one row, regardless of the number of requests.
func TestDeniedRequestsAreAudited(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	for _, c := range allCallers(t, a) {
		if c.role != models.RoleViewer && c.role != models.RoleMember {
			continue
		}
		for range 2 {
			if got, status := sendAs(t, a, routes.Row{Method: "POST", Path: "/api/projects"}, c, "x"); got != forbidden {
				t.Errorf("%s: %d", c.name, status)
			}
		}
	}
	var rows []models.AuditEntry
	if err := a.Services.DB.Order("seq").Find(&rows, "action = ?", "access.denied").Error; err != nil {
		t.Fatal(err)
	}
	want := []string{"member@example.com", "viewer@example.com"}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row.ActorName != want[i] || row.Object != "POST /api/projects" || row.Detail["role"] == "" || row.RequestID == "" {
			t.Errorf("row %d = %+v", i, row)
		}
	}
	if _, err := a.Services.Audit.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
