package routes_test

import (
	"testing"

	"mcpgateway/routes/routestest"
)

func TestFormURLOpensItsPage(t *testing.T) {
	a := routestest.NewAdmin(t)
	server := "/admin/projects/p/servers/" + a.ServerID(t, "p", "clock")
	for path, want := range map[string]string{
		server + "/sync":                           server,
		server + "/delete":                         server,
		"/admin/projects/p/tools/clock__x/enabled": "/admin/projects/p/tools/clock__x",
		"/admin/catalog/sources/1/sync":            "/admin/catalog/sources/1",
		"/admin/projects/p/settings/delete":        "/admin/projects/p/settings",
	} {
		status, _, location := a.Send(t, path, nil)
		if status != 303 || location != want {
			t.Errorf("GET %s: status %d to %q, want %q", path, status, location, want)
		}
	}
}
