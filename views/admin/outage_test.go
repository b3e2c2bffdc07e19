package admin_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
)

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

func TestPagesShowPausedCalls(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		next time.Time
		want string
	}{
		"probe scheduled": {now.Add(20 * time.Second), "Calls paused 2 min ago. Next try in a moment"},
		"no probe time":   {time.Time{}, "Calls paused 2 min ago. The next call tests the connection."},
		"probe due":       {now, "Calls paused 2 min ago. The next call tests the connection."},
	} {
		row := admin.ServerRow{
			ID: "s", Alias: "jira", Enabled: true, State: admin.StateOf(admin.StateDown), Error: "it is <gone>",
			Outage: &admin.Outage{Since: now.Add(-2 * time.Minute), NextProbe: c.next, Reason: "it is <gone>"},
		}
		var list, one strings.Builder
		if err := admin.Servers(admin.ServersProps{Now: now, Project: layout.Project{Slug: "p"}, Rows: []admin.ServerRow{row}, Total: 1}).Render(context.Background(), &list); err != nil {
			t.Fatal(err)
		}
		if err := admin.Server(admin.ServerProps{Now: now, Project: layout.Project{Slug: "p"}, Server: row}).Render(context.Background(), &one); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{list.String(), one.String()} {
			words := spaces.ReplaceAllString(markup.ReplaceAllString(page, ""), " ")
			if !strings.Contains(words, c.want) || !strings.Contains(words, "It is &lt;gone&gt;.") {
				t.Errorf("%s: page = %s, want %q", name, words, c.want)
			}
		}
	}
}
