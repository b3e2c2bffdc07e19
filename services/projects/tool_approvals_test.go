package projects_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
)

// seen returns the current definitions of tools.
func (s *store) seen(t *testing.T, serverID string, names ...string) []toolstate.Definition {
	t.Helper()
	var all []toolstate.Definition
	for _, name := range names {
		var row models.Tool
		if err := s.db.First(&row, "server_id = ? AND name = ?", serverID, name).Error; err != nil {
			t.Fatal(err)
		}
		all = append(all, toolstate.Definition{Name: "s__" + name, Hash: row.DefinitionHash})
	}
	return all
}

// approvedHash returns the approved hash of a tool.
func (s *store) approvedHash(t *testing.T, name string) string {
	t.Helper()
	var row models.Tool
	if err := s.db.First(&row, "name = ?", name).Error; err != nil {
		t.Fatal(err)
	}
	return row.ApprovedHash
}

func TestApproveSkipsChangedDefinitions(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example","definitionPolicy":"approve"}}}`)
		id := s.server(t, "p", "s").ID
		s.addTools(t, id, "a", "b", "c")
		if err := s.db.Model(&models.Tool{}).Where("1 = 1").Update("approved_hash", "").Error; err != nil {
			t.Fatal(err)
		}
		s.audited(t)
		shown := s.seen(t, id, "a", "b", "c")
		if err := s.db.Model(&models.Tool{}).Where("name = 'b'").Updates(map[string]any{"definition": "{}", "definition_hash": "other"}).Error; err != nil {
			t.Fatal(err)
		}
		unknown := toolstate.Definition{Name: "s__gone", Hash: "h"}
		got, err := s.Approve(t.Context(), "p", append(shown, unknown))
		want := toolstate.Approvals{Done: []toolstate.Definition{shown[0], shown[2]}, Skipped: []string{"s__b", "s__gone"}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		s.wantAudit(t, "tool.approved s__a", "tool.approved s__c")
		if s.approvedHash(t, "a") != shown[0].Hash || s.approvedHash(t, "b") != "" {
			t.Errorf("approved hashes: a %q, b %q", s.approvedHash(t, "a"), s.approvedHash(t, "b"))
		}
		if again, err := s.Approve(t.Context(), "p", shown[:1]); err != nil || len(again.Done)+len(again.Skipped) != 0 {
			t.Errorf("second Approve() = %+v, %v", again, err)
		}

		// A newer approval by another user is not undone.
		if err := s.db.Model(&models.Tool{}).Where("name = 'c'").Updates(map[string]any{"definition_hash": "newer", "approved_hash": "newer"}).Error; err != nil {
			t.Fatal(err)
		}
		got, err = s.Unapprove(t.Context(), "p", want.Done)
		if diff := cmp.Diff(toolstate.Approvals{Done: shown[:1], Skipped: []string{"s__c"}}, got); err != nil || diff != "" {
			t.Errorf("Unapprove() done: %v (-want +got):\n%s", err, diff)
		}
		s.wantAudit(t, "tool.approval_withdrawn s__a")
		if s.approvedHash(t, "a") != "" || s.approvedHash(t, "c") != "newer" {
			t.Errorf("approved hashes: a %q, c %q", s.approvedHash(t, "a"), s.approvedHash(t, "c"))
		}
	})
}

func TestApproveLimits(t *testing.T) {
	s := sqliteStore(t)
	s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example","definitionPolicy":"approve"}}}`)
	var names []string
	for i := range toolstate.MaxApprovals + 1 {
		names = append(names, fmt.Sprint("t", i))
	}
	id := s.server(t, "p", "s").ID
	s.addTools(t, id, names...)
	shown := s.seen(t, id, names...)
	for n, ok := range map[int]bool{0: false, 1: true, toolstate.MaxApprovals - 1: true, toolstate.MaxApprovals: true, toolstate.MaxApprovals + 1: false} {
		if _, err := s.Approve(t.Context(), "p", shown[:n]); (err == nil) != ok {
			t.Errorf("Approve() of %d definitions: %v", n, err)
		}
	}
	_, err := s.Approve(t.Context(), "nowhere", shown[:1])
	wantFault(t, err, fault.CodeNotFound)
	if got, err := s.Approve(t.Context(), "p", []toolstate.Definition{{Name: "s__t0"}}); err != nil || len(got.Skipped) != 1 {
		t.Errorf("Approve() without a hash: %+v, %v", got, err)
	}
}
