package admin_test

import (
	"testing"

	"mcpgateway/web/guard"

	"mcpgateway/routes/admin"
)

// counter is a fixed number of servers that need a user.
type counter int

func (n counter) Count() int { return int(n) }

func TestBannerCountsServers(t *testing.T) {
	for _, c := range []struct {
		n    counter
		role string
		want string
	}{
		{0, guard.RoleAdmin, ""}, {1, guard.RoleMember, ""},
		{1, guard.RoleAdmin, "1 server needs to be connected."},
		{2, guard.RoleViewer, "2 servers need to be connected."},
	} {
		got := ""
		for _, b := range admin.Banners(c.n)(t.Context(), c.role) {
			got += b.Text
		}
		if got != c.want {
			t.Errorf("Banners(%d) for role %q = %q, want %q", c.n, c.role, got, c.want)
		}
	}
}
