package projects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

func TestResultLimitIsStored(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		const file = `{"projects":{"p":{"resultLimit":%s,"mcpServers":{"s":{"url":"https://up.example/mcp","resultLimit":%s}}}}}`
		s.apply(t, fmt.Sprintf(file, "0", "null"))
		if exported := s.export(t, ""); strings.Contains(exported, "resultLimit") {
			t.Errorf("export has the defaults: %s", exported)
		}
		s.feed.take()
		plan := s.apply(t, fmt.Sprintf(file, "5242880", "0"))
		for _, change := range plan.Changes {
			if d := cmp.Diff([]string{"resultLimit"}, change.Fields); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
		}
		if topics := s.feed.take(); len(topics) != 1 {
			t.Errorf("topics %v", topics)
		}
		if limit := s.server(t, "p", "s").ResultLimit; limit == nil || *limit != 0 {
			t.Errorf("server has %v, want 0", limit)
		}
		exported := s.export(t, "")
		wantPlan(t, s.apply(t, exported, projects.ApplyOptions{Prune: true}), "keep p", "keep p/s")
		if err := s.DeleteProject(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		s.apply(t, exported)
		wantPlan(t, s.apply(t, fmt.Sprintf(file, "5242880", "0")), "keep p", "keep p/s")
		s.apply(t, fmt.Sprintf(file, "1", "null"))
		if limit := s.server(t, "p", "s").ResultLimit; limit != nil {
			t.Errorf("server has %d, want that of the project", *limit)
		}
	})
}

func TestResultLimitIsRefused(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"https://up.example/mcp"}}}}}`)
	const inServer = `{"projects":{"p":{"mcpServers":{"s":{"resultLimit":%s}}}}}`
	for _, tt := range []struct{ file, want string }{
		{`{"projects":{"p":{"resultLimit":5242881}}}`, "from 0 to 5242880"},
		{`{"projects":{"p":{"resultLimit":-1}}}`, "from 0 to 5242880"},
		{`{"projects":{"p":{"resultLimit":null}}}`, "from 0 to 5242880"},
		{fmt.Sprintf(inServer, "5242881"), "use null for the project's limit"},
		{fmt.Sprintf(inServer, "-1"), "use null for the project's limit"},
		{fmt.Sprintf(inServer, "1.5"), "use null for the project's limit"},
		{`{"projects":{"p":{"authMode":"none","resultLimit":1}}}`, "require a key or a sign-in"},
		{`{"projects":{"q":{"authMode":"none","mcpServers":{"s":{"url":"https://up.example/mcp","resultLimit":1}}}}}`, "require a key or a sign-in"},
	} {
		d, err := declaration.Parse([]byte(tt.file))
		if err == nil {
			_, err = s.Apply(t.Context(), d, projects.ApplyOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.file, err, tt.want)
		}
	}
	s.apply(t, fmt.Sprintf(inServer, "1"))
	d, err := declaration.Parse([]byte(`{"projects":{"p":{"authMode":"none"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), d, projects.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "server s has a resultLimit") {
		t.Errorf("a project with a limit was opened: %v", err)
	}
}
