package admin_test

import (
	"testing"

	"mcpgateway/web/guard"

	"mcpgateway/routes/admin"
)

// counter is how many servers wait.
type counter int

func (n counter) Count() int { return int(n) }

func TestABannerCountsTheServersThatWait(t *testing.T) {
	for _, c := range []struct {
		n    counter
		role string
		says string
	}{
		{0, guard.RoleAdmin, ""}, {1, guard.RoleMember, ""},
		{1, guard.RoleAdmin, "1 server waits for an administrator to connect it."},
		{2, guard.RoleViewer, "2 servers wait for an administrator to connect them."},
	} {
		got := ""
		for _, b := range admin.Banners(c.n)(t.Context(), c.role) {
			got += b.Text
		}
		if got != c.says {
			t.Errorf("%d for a %s: %q, want %q", c.n, c.role, got, c.says)
		}
	}
}
