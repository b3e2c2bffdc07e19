package admin_test

import (
	"context"
	"slices"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/oauthclient"
	"mcpgateway/web/guard"
)

// pendingServers is a fixed list of servers that need a user.
type pendingServers []oauthclient.PendingServer

type openRequests []string

func (r openRequests) Waiting(_ context.Context, names int) (int, []string, error) {
	return len(r), slices.Clone(r[:min(len(r), names)]), nil
}

func (s pendingServers) Servers() []oauthclient.PendingServer { return s }

func TestBannerNamesServers(t *testing.T) {
	figma := oauthclient.PendingServer{ID: "f1", Alias: "figma", WasConnected: true}
	fresh := oauthclient.PendingServer{ID: "n1", Alias: "notion"}
	many := func(n int) (all pendingServers) {
		for i := range n {
			all = append(all, oauthclient.PendingServer{Alias: string(rune('a' + i)), WasConnected: true})
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		servers pendingServers
		role    string
		want    string // text, link label and URL
	}{
		{"none", nil, guard.RoleAdmin, ""},
		{"member", pendingServers{figma}, guard.RoleMember, ""},
		{"one", pendingServers{figma}, guard.RoleAdmin, "figma needs to be reconnected. Reconnect /admin/connections/f1/start"},
		{"one for a viewer", pendingServers{figma}, guard.RoleViewer, "figma needs to be reconnected. Review /admin/connections/f1"},
		{"new one", pendingServers{fresh}, guard.RoleAdmin, "notion needs to be connected. Connect /admin/connections/n1/start"},
		{"two", pendingServers{figma, {ID: "n2", Alias: "notion", WasConnected: true}}, guard.RoleAdmin, "2 servers need to be reconnected: figma, notion. Review /admin/connections"},
		{"a new one of two", pendingServers{figma, fresh}, guard.RoleViewer, "2 servers need to be connected: figma, notion. Review /admin/connections"},
		{"names below the limit", many(3), guard.RoleAdmin, "3 servers need to be reconnected: a, b, c. Review /admin/connections"},
		{"names at the limit", many(4), guard.RoleAdmin, "4 servers need to be reconnected: a, b, c, d. Review /admin/connections"},
		{"names over the limit", many(5), guard.RoleAdmin, "5 servers need to be reconnected: a, b, c, d and 1 more. Review /admin/connections"},
	} {
		got := ""
		for _, b := range admin.Banners(nil, tt.servers, openRequests(nil), firingAlerts(nil))(reach.With(t.Context(), reach.OfPerson("p", models.Role(tt.role), nil)), tt.role) {
			got += b.Text + " " + b.LinkLabel + " " + b.LinkURL
		}
		if got != tt.want {
			t.Errorf("%s: Banners() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestBannerNamesRequests(t *testing.T) {
	for _, tt := range []struct {
		open openRequests
		role string
		want string
	}{
		{nil, guard.RoleAdmin, ""},
		{openRequests{"p/a"}, guard.RoleAdmin, "1 server is requested: p/a. Decide /admin/catalog/requests"},
		{openRequests{"p/a"}, guard.RoleViewer, ""},
		{openRequests{"p/a"}, guard.RoleMember, ""},
		{openRequests{"a", "b", "c", "d"}, guard.RoleAdmin, "4 servers are requested: a, b, c, d. Decide /admin/catalog/requests"},
		{openRequests{"a", "b", "c", "d", "e"}, guard.RoleAdmin, "5 servers are requested: a, b, c, d and 1 more. Decide /admin/catalog/requests"},
	} {
		got := ""
		for _, b := range admin.Banners(nil, pendingServers(nil), tt.open, firingAlerts(nil))(reach.With(t.Context(), reach.OfPerson("p", models.Role(tt.role), nil)), tt.role) {
			got += b.Text + " " + b.LinkLabel + " " + b.LinkURL
		}
		if got != tt.want {
			t.Errorf("%v for %s: %q, want %q", tt.open, tt.role, got, tt.want)
		}
	}
}

// firingAlerts are the objects of alerts about servers.
type firingAlerts []string

// Firing implements admin.FiringAlerts. It includes a connection, which has its own
// banner.
func (f firingAlerts) Firing() []models.Alert {
	all := []models.Alert{{Rule: "connection_needed", Object: "other"}}
	for _, object := range f {
		all = append(all, models.Alert{Rule: "server_down", Object: object})
	}
	return all
}

func TestBannerNamesAlerts(t *testing.T) {
	for _, tt := range []struct {
		firing firingAlerts
		role   string
		want   string
	}{
		{nil, guard.RoleAdmin, ""},
		{firingAlerts{"a"}, guard.RoleAdmin, "1 alert: Server down (a). Show alerts /admin/alerts"},
		{firingAlerts{"a"}, guard.RoleViewer, ""},
		{firingAlerts{"a"}, guard.RoleMember, ""},
		{firingAlerts{"a", "b"}, guard.RoleAdmin, "2 alerts: Server down (a, b). Show alerts /admin/alerts"},
		{firingAlerts{"a", "b", "c"}, guard.RoleAdmin, "3 alerts: Server down (a, b and 1 more). Show alerts /admin/alerts"},
	} {
		got := ""
		for _, b := range admin.Banners(nil, pendingServers(nil), openRequests(nil), tt.firing)(reach.With(t.Context(), reach.OfPerson("p", models.Role(tt.role), nil)), tt.role) {
			got += b.Text + " " + b.LinkLabel + " " + b.LinkURL
		}
		if got != tt.want {
			t.Errorf("%v for %s: %q, want %q", tt.firing, tt.role, got, tt.want)
		}
	}
}
