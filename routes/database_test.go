package routes_test

import (
	"net/http/httptest"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// TestEndedDatabaseConnections terminates the gateway's connections to
// PostgreSQL, and then prevents new ones.
func TestEndedDatabaseConnections(t *testing.T) {
	dsn := modelstest.Postgres(t)
	other := modelstest.Open(t, modelstest.Postgres(t))
	app := routestest.New(t, dsn)
	var name string
	if err := app.Services.DB.Raw("SELECT current_database()").Scan(&name).Error; err != nil {
		t.Fatal(err)
	}
	admin := func(statement string) {
		t.Helper()
		if err := other.Exec(statement).Error; err != nil {
			t.Fatal(err)
		}
	}
	list := func() (status int, retryAfter string) {
		t.Helper()
		request := httptest.NewRequest("GET", "/api/projects", nil)
		request.Host = "127.0.0.1:8080"
		request.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
		answer, err := app.Test(request, 60_000)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Retry-After")
	}
	terminate := "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + name + "'"
	for range 5 {
		admin(terminate)
		for range 3 {
			if status, _ := list(); status != 200 {
				t.Errorf("after the connections ended: status %d", status)
			}
		}
	}
	admin("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	// A connection that is being established is not listed yet.
	routestest.Eventually(t, "every connection has ended", func() bool {
		admin(terminate)
		status, _ := list()
		return status == 503
	})
	for range 3 {
		if status, retryAfter := list(); status != 503 || retryAfter != "1" {
			t.Errorf("without a database: status %d, Retry-After %q", status, retryAfter)
		}
	}
	admin("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
	routestest.Eventually(t, "database is reachable", func() bool { status, _ := list(); return status == 200 })
}
