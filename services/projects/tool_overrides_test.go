package projects_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/toolset"
)

const renamed = `{"get":{"as":"fetch","title":"T","fixed":{"token":"${MCP_UPSTREAM_TOKEN}","n":1.50}},"del":{"annotations":{"destructiveHint":true}}}`

func TestToolOverridesRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, inServer(`"tools":`+renamed))
		file := s.export(t, "")
		for _, part := range []string{`"as": "fetch"`, `"n": 1.50`, `"token": "${MCP_UPSTREAM_TOKEN}"`, `"destructiveHint": true`} {
			if !strings.Contains(file, part) {
				t.Errorf("the export lacks %s: %s", part, file)
			}
		}
		wantPlan(t, s.apply(t, file), "keep p", "keep p/s")
		wantPlan(t, s.apply(t, inServer(`"enabled":true`)), "keep p", "keep p/s")
		if again := s.export(t, ""); again != file {
			t.Errorf("second export:\n%s", cmp.Diff(file, again))
		}
		s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})
		s.apply(t, file)
		if again := s.export(t, ""); again != file {
			t.Errorf("export of another installation:\n%s", cmp.Diff(file, again))
		}
		wantPlan(t, s.apply(t, inServer(`"tools":{}`)), "keep p", "update p/s tools")
		if row := s.server(t, "p", "s"); len(row.ToolOverrides) > 0 || strings.Contains(s.export(t, ""), `"tools"`) {
			t.Errorf("stored %v", row.ToolOverrides)
		}
	})
}

func TestToolOverrideReferences(t *testing.T) {
	s := sqliteStore(t)
	const at = "projects.p.mcpServers.s.tools.a."
	for value, path := range map[string]string{
		`{"fixed":{"x":"${HOME}"}}`: at + "fixed.x", `{"defaults":{"x":[{"y":"${GATEWAY_X_TOKEN}"}]}}`: at + "defaults.x",
		`{"fixed":{"x":"token ${A_TOKEN}"}}`: at + "fixed.x", `{"fixed":{"x":"\u0024{HOME}"}}`: at + "fixed.x",
	} {
		_, err := s.tryApply(t, inServer(`"tools":{"a":`+value+`}`))
		wantProblem(t, err, "", path)
	}
	tools := func(n int) string {
		return object(n, func(i int) string { return "t" + strconv.Itoa(i) }, `{"fixed":{"x":"${SAME_TOKEN}"}}`)
	}
	s.apply(t, inServer(`"tools":`+tools(20))) // the same reference counts once
	for n, ok := range map[int]bool{7: true, 8: true, 9: false} {
		values := make([]string, n)
		for i := range values {
			values[i] = `"${T` + strconv.Itoa(i) + `_TOKEN}"`
		}
		_, err := s.tryApply(t, inServer(`"tools":{"a":{"fixed":{"x":[`+strings.Join(values, ",")+`]}}}`))
		if ok != (err == nil) {
			t.Errorf("%d references: %v", n, err)
		}
		if !ok {
			wantProblem(t, err, "at most 8", "projects.p.mcpServers.s.tools")
		}
	}

	s.apply(t, inServer(`"tools":{"a":{"fixed":{"x":"plain"}}}`))
	row := s.server(t, "p", "s")
	if projects.HasCredentials(row) {
		t.Error("a literal counts as a credential")
	}
	s.apply(t, inServer(`"tools":{"a":{"fixed":{"x":"${A_TOKEN}"}}}`))
	if row = s.server(t, "p", "s"); !projects.HasCredentials(row) {
		t.Error("a reference doesn't count as a credential")
	}
}

func TestToolOverrideAuditAndVersion(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
		row := s.server(t, "p", "s")
		s.addTools(t, row.ID, "a", "b")
		s.audited(t)
		saved, err := s.OverrideTool(t.Context(), row.ID, "a", "{}", models.ToolOverride{As: "b", Fixed: map[string]json.RawMessage{"gone": json.RawMessage("1")}})
		if err != nil || saved.Server.ConfigVersion != row.ConfigVersion {
			t.Errorf("version %d, before %d: %v", saved.Server.ConfigVersion, row.ConfigVersion, err)
		}
		var codes []string
		for _, w := range saved.Warnings {
			codes = append(codes, w.Code)
		}
		if diff := cmp.Diff([]string{toolset.WarnOverrideStale, toolset.WarnNameTaken}, codes); diff != "" {
			t.Error(diff)
		}
		s.wantAudit(t, "server.overrides_changed s")
		var entry models.AuditEntry
		if err := s.db.Order("seq DESC").First(&entry).Error; err != nil || entry.Detail["tools"] != "a" {
			t.Errorf("%+v %v", entry, err)
		}

		stale := models.ToolOverride{Title: "x"}
		if _, err := s.OverrideTool(t.Context(), row.ID, "a", "{}", stale); !fault.Is(err, fault.CodeConflict) {
			t.Errorf("an outdated form: %v", err)
		}
		if _, err := s.OverrideTool(t.Context(), "none", "a", "{}", stale); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("an unknown server: %v", err)
		}
		if _, err := s.OverrideTool(t.Context(), row.ID, "b", "{}", stale); err != nil {
			t.Fatal(err)
		}
		if _, err := s.OverrideTool(t.Context(), row.ID, "a", `{"as":"b","fixed":{"gone":1}}`, models.ToolOverride{}); err != nil {
			t.Fatal(err)
		}
		if got := string(s.server(t, "p", "s").ToolOverrides.JSON()); got != `{"b":{"title":"x"}}` {
			t.Errorf("stored %s", got)
		}
		secret := models.ToolOverride{Fixed: map[string]json.RawMessage{"t": json.RawMessage(`"${A_TOKEN}"`)}}
		saved, err = s.OverrideTool(t.Context(), row.ID, "a", "{}", secret)
		if err != nil || saved.Server.ConfigVersion != row.ConfigVersion+1 {
			t.Errorf("a reference must end the sessions, whose filters don't have it: version %d, %v", saved.Server.ConfigVersion, err)
		}
		s.audited(t)
		s.apply(t, inProject(`"mcpServers":{"s":{"timeout":1000,"tools":{}}}`))
		s.wantAudit(t, "server.updated s fields=timeout", "server.overrides_changed s")
	})
}

// TestRenamedToolSettings changes the settings of tools by their exported names.
func TestRenamedToolSettings(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"disabledTools":["s__swap2"],"mcpServers":{"s":{"url":"https://x.example","tools":{"get":{"as":"fetch"},"swap1":{"as":"swap2"},"swap2":{"as":"swap1"}}}}}`)
		id := s.server(t, "p", "s").ID
		s.addTools(t, id, "get", "swap1", "swap2")
		off, on := false, true
		disabled := func() string {
			p, err := s.Project(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(p.DisabledTools, " ")
		}
		if err := s.SetTool(t.Context(), "p", "s__get", &off, nil); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("former name: %v", err)
		}
		if err := s.SetTool(t.Context(), "p", "s__fetch", &off, nil); err != nil || disabled() != "s__get s__swap2" {
			t.Errorf("%v: disabled %s", err, disabled())
		}
		if changed, err := s.SwitchTools(t.Context(), "p", []string{"s__fetch", "s__get"}, true); err != nil || strings.Join(changed, " ") != "s__fetch" || disabled() != "s__swap2" {
			t.Errorf("%v %v: disabled %s", changed, err, disabled())
		}
		// swap2 is off by its own name, which is the exported one of swap1.
		if err := s.SetTool(t.Context(), "p", "s__swap2", &on, nil); err != nil || disabled() != "" {
			t.Errorf("%v: disabled %s", err, disabled())
		}
		done, err := s.Approve(t.Context(), "p", []toolstate.Definition{{Name: "s__fetch", Hash: "hash of get"}, {Name: "s__get", Hash: "hash of get"}, {Name: "s__swap1", Hash: "hash of swap2"}})
		if err != nil || len(done.Done) != 2 || strings.Join(done.Skipped, " ") != "s__get" {
			t.Errorf("Approve() = %+v, %v", done, err)
		}
		var approved []string
		if err := s.db.Model(&models.Tool{}).Where("approved_hash <> ''").Order("name").Pluck("name", &approved).Error; err != nil || strings.Join(approved, " ") != "get swap2" {
			t.Errorf("approved %v, %v", approved, err)
		}
	})
}

func TestConfirmAccess(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
		id := s.server(t, "p", "s").ID
		s.addTools(t, id, "a", "b")
		safer := map[string]any{"definition": `{"name":"a","annotations":{"readOnlyHint":true}}`, "confirmed_access": "destructive"}
		if err := s.db.Model(&models.Tool{}).Where("1 = 1").Updates(safer).Error; err != nil {
			t.Fatal(err)
		}
		confirmed := func(name string) string {
			var row models.Tool
			if err := s.db.First(&row, "name = ?", name).Error; err != nil {
				t.Fatal(err)
			}
			return row.ConfirmedAccess
		}
		s.audited(t)
		confirm := func(name, hash string) error {
			return s.ConfirmAccess(t.Context(), "p", toolstate.Definition{Name: name, Hash: hash})
		}
		if err := confirm("s__a", "another"); !fault.Is(err, fault.CodeConflict) || confirmed("a") != "destructive" {
			t.Errorf("unseen definition: %v", err)
		}
		if err := confirm("s__none", "hash of a"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("unknown tool: %v", err)
		}
		for range 2 {
			if err := confirm("s__a", "hash of a"); err != nil || confirmed("a") != "read" || confirmed("b") != "destructive" {
				t.Errorf("%v: a %s, b %s", err, confirmed("a"), confirmed("b"))
			}
		}
		s.wantAudit(t, "tool.access_confirmed s__a")
		if _, err := s.Approve(t.Context(), "p", []toolstate.Definition{{Name: "s__b", Hash: "hash of b"}}); err != nil || confirmed("b") != "read" {
			t.Errorf("an approval must confirm what was seen: %s, %v", confirmed("b"), err)
		}
	})
}
