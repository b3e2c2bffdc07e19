package projects_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// TestWhoeverCreatesAProjectFindsIt follows the redirect behind a write at
// once, on every kind of database: this process has acted on its own change
// before it answers.
func TestWhoeverCreatesAProjectFindsIt(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.NewAdminOn(t, dsn)
		for i := range 20 {
			name := fmt.Sprintf("Made %d", i)
			status, _, to := a.Send(t, "/admin/projects", url.Values{"name": {name}, "authMode": {"none"}})
			if status != 303 {
				t.Fatalf("%s: status %d", name, status)
			}
			if status, page, _ := a.Send(t, to, nil); status != 200 || !strings.Contains(page, name) {
				t.Fatalf("%s: the page after it answers %d", name, status)
			}
		}
	})
}
