package projects_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// A process must apply its own change before it responds. The test follows the
// redirect after a write immediately, on every kind of database.
func TestCreatedProjectIsVisible(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.NewAdminOn(t, dsn)
		for i := range 20 {
			name := fmt.Sprintf("Made %d", i)
			status, _, to := a.Send(t, "/admin/projects", url.Values{"name": {name}, "authMode": {"none"}})
			if status != 303 {
				t.Fatalf("create %s: status = %d, want 303", name, status)
			}
			if status, page, _ := a.Send(t, to, nil); status != 200 || !strings.Contains(page, name) {
				t.Fatalf("page of %s: status = %d, or page lacks its name", name, status)
			}
		}
	})
}
