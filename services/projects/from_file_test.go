package projects_test

import (
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

// programKeys are the keys of programs in the files of these tests.
var programKeys = []string{"command"}

// serve applies a file of the operator.
func (s *store) serve(t *testing.T, source models.ServerSource, file string) error {
	t.Helper()
	d, err := declaration.ParseServed([]byte(file), programKeys)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), d, projects.ApplyOptions{Source: source})
	return err
}

func TestServerBecomesAProgramAndBack(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		const remote = `{"projects":{"p":{"mcpServers":{"a":{"url":"https://a.example/mcp?key=secret","headers":{"X-Key":"secret"},"authType":"bearer","authBearer":"secret","denyTools":["d"],"forwardHeaders":["X-User"]}}}}}`
		const program = `{"projects":{"p":{"mcpServers":{"a":{"command":"x","timeout":5000}}}}}`
		if err := s.serve(t, models.SourceConfig, remote); err != nil {
			t.Fatal(err)
		}
		if row := s.server(t, "p", "a"); row.Source != models.SourceNone || row.IsProgram() {
			t.Fatalf("server with a URL: %+v", row)
		}
		if err := s.serve(t, models.SourceConfig, program); err != nil {
			t.Fatal(err)
		}
		row := s.server(t, "p", "a")
		if !row.IsProgram() || row.Source != models.SourceConfig || row.Entry != "p/a" || row.URL != "" || len(row.URLSecrets)+len(row.Headers)+len(row.ForwardHeaders) > 0 || row.AuthBearer != "" ||
			row.AuthType != models.UpstreamAuthNone || row.TimeoutMS != 5000 || len(row.DenyTools) != 1 || row.ConfigVersion != 2 {
			t.Errorf("program: %+v", row)
		}
		if err := s.serve(t, models.SourceConfig, program); err != nil || s.server(t, "p", "a").ConfigVersion != 2 {
			t.Errorf("applied again: %+v, %v", s.server(t, "p", "a"), err)
		}
		if err := s.serve(t, models.SourceConfig, remote); err != nil {
			t.Fatal(err)
		}
		if row := s.server(t, "p", "a"); row.IsProgram() || row.Source != models.SourceNone || row.AuthBearer == "" {
			t.Errorf("server with a URL again: %+v", row)
		}
	})
}

func TestFilesTakeOnlyTheirServers(t *testing.T) {
	s := sqliteStore(t)
	const hand, program, other = `{"projects":{"local":{"mcpServers":{"a":{"url":"https://a.example"}}}}}`, `{"projects":{"local":{"mcpServers":{"a":{"command":"x"}}}}}`, `{"projects":{"local":{"mcpServers":{"b":{"url":"https://b.example"}}}}}`
	if _, err := s.Apply(t.Context(), parse(t, hand), projects.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for what, file := range map[string]string{"program": program, "server with a URL": hand} {
		if err := s.serve(t, models.SourceLocal, file); fault.From(err).Fields["projects.local.mcpServers.a.alias"] == "" {
			t.Errorf("%s in place of another server: %v", what, err)
		}
	}
	if err := s.DeleteServer(t.Context(), s.server(t, "local", "a").ID); err != nil {
		t.Fatal(err)
	}
	if err := s.serve(t, models.SourceLocal, program); err != nil {
		t.Fatal(err)
	}
	if err := s.serve(t, models.SourceConfig, program); fault.From(err).Fields["projects.local.mcpServers.a.alias"] == "" {
		t.Errorf("program of another file: %v", err)
	}
	if err := s.serve(t, models.SourceLocal, hand); err != nil {
		t.Fatal(err)
	}
	row := s.server(t, "local", "a")
	if row.Source != models.SourceLocal || row.IsProgram() || row.URL == "" {
		t.Errorf("server with a URL of a local file: %+v", row)
	}
	alias := "c"
	if _, err := s.UpdateServer(t.Context(), row.ID, &alias, &declaration.Server{}); fault.From(err).Fields["alias"] != "comes from its runner's file" {
		t.Errorf("renamed: %v", err)
	}
	if err := s.DeleteServer(t.Context(), row.ID); !fault.Is(err, fault.CodeConflict) {
		t.Errorf("deleted while declared: %v", err)
	}
	for _, file := range []string{other, `{"projects":{"q":{}}}`} {
		plan, err := s.Apply(t.Context(), parse(t, file), projects.ApplyOptions{Prune: true})
		if err != nil || !strings.Contains(strings.Join(plan.Warnings, " "), "Server a stays: it comes from its runner's file.") {
			t.Errorf("prune with %s: %v, %v", file, plan.Warnings, err)
		}
		s.server(t, "local", "a")
	}
}
