package projects_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

// protocolKeys has a value other than the default for every key about the protocol.
const protocolKeys = `{"projects":{"p":{"instructions":"Be <kind>.\nAlways.","icon":"https://x.example/i.png","websiteUrl":"https://x.example/?a&b","serverCard":true,"toolNames":"bare","validateArguments":true,
	"mcpServers":{"s":{"url":"https://up.example/mcp","protocolVersion":"2025-06-18","taskTimeout":86400000}}}}}`

func TestProtocolKeys(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"https://up.example/mcp"}}}}}`)
		for _, absent := range []string{"instructions", "icon", "websiteUrl", "serverCard", "toolNames", "validateArguments", "protocolVersion", "taskTimeout"} {
			if file := s.export(t, ""); strings.Contains(file, absent) {
				t.Errorf("export has the default of %s: %s", absent, file)
			}
		}
		before := s.server(t, "p", "s")
		if before.ProtocolVersion != "auto" || before.TaskTimeoutMS != 600_000 {
			t.Errorf("defaults %q, %d", before.ProtocolVersion, before.TaskTimeoutMS)
		}
		s.feed.take()
		plan := s.apply(t, protocolKeys)
		if d := cmp.Diff([]string{"toolNames", "validateArguments", "instructions", "icon", "websiteUrl", "serverCard"}, plan.Changes[0].Fields); d != "" {
			t.Errorf("fields of the project (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"protocolVersion", "taskTimeout"}, plan.Changes[1].Fields); d != "" {
			t.Errorf("fields of the server (-want +got):\n%s", d)
		}
		if topics := s.feed.take(); len(topics) != 1 || topics[0] != "toolset:"+topics[0][len("toolset:"):] {
			t.Errorf("topics %v", topics)
		}
		if after := s.server(t, "p", "s"); after.ConfigVersion != before.ConfigVersion+1 {
			t.Errorf("config version %d, then %d", before.ConfigVersion, after.ConfigVersion)
		}
		file := s.export(t, "")
		if err := s.DeleteProject(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		s.apply(t, file)
		wantPlan(t, s.apply(t, protocolKeys), "keep p", "keep p/s")
		wantPlan(t, s.apply(t, file, projects.ApplyOptions{Prune: true}), "keep p", "keep p/s")
	})
}

// TestStatelessNeedsHTTP saves combinations of revision and transport, in one
// change and in two.
func TestStatelessNeedsHTTP(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, inServer(`"transport":"sse"`))
	id := s.server(t, "p", "s").ID
	for _, tt := range []struct{ version, transport, refused string }{
		{"2025-11-25", "", ""},
		{"2026-07-28", "", "protocolVersion"},
		{"2026-07-28", "streamable-http", ""},
		{"", "sse", "protocolVersion"},
		{"auto", "sse", ""},
	} {
		_, d, err := declaration.ParseServer([]byte(strings.Replace(`{"protocolVersion":"`+tt.version+`","transport":"`+tt.transport+`"}`, `"protocolVersion":"",`, "", 1)))
		if tt.transport == "" {
			_, d, err = declaration.ParseServer([]byte(`{"protocolVersion":"` + tt.version + `"}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.UpdateServer(t.Context(), id, nil, d)
		if (err != nil) != (tt.refused != "") || err != nil && fault.From(err).Fields[tt.refused] == "" {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
