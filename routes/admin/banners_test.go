package admin_test

import (
	"testing"

	"mcpgateway/routes/admin"
	"mcpgateway/web"
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
		{0, web.RoleAdmin, ""}, {1, web.RoleMember, ""},
		{1, web.RoleAdmin, "1 server waits for an administrator to connect it."},
		{2, web.RoleViewer, "2 servers wait for an administrator to connect them."},
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
