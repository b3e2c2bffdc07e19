package projects_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
)

func TestSwitchTools(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
		s.addTools(t, s.server(t, "p", "s").ID, "a", "b", "c")
		s.audited(t)
		steps := []struct {
			names   []string
			enabled bool
			changed []string
			audit   []string
		}{
			{[]string{"s__b", "s__a", "s__gone", "a"}, false, []string{"s__b", "s__a"}, []string{"tool.disabled s__b", "tool.disabled s__a"}},
			{[]string{"s__a", "s__c"}, false, []string{"s__c"}, []string{"tool.disabled s__c"}},
			{[]string{"s__a"}, false, nil, nil},
			{[]string{"s__a", "s__b", "s__gone"}, true, []string{"s__a", "s__b"}, []string{"tool.enabled s__a", "tool.enabled s__b"}},
		}
		for _, step := range steps {
			got, err := s.SwitchTools(t.Context(), "p", step.names, step.enabled)
			if diff := cmp.Diff(step.changed, got); err != nil || diff != "" {
				t.Errorf("SwitchTools(%v, %v): %v (-want +got):\n%s", step.names, step.enabled, err, diff)
			}
			s.wantAudit(t, step.audit...)
		}
		project, err := s.Project(t.Context(), "p")
		if diff := cmp.Diff([]string{"s__c"}, []string(project.DisabledTools)); err != nil || diff != "" {
			t.Errorf("disabled tools: %v (-want +got):\n%s", err, diff)
		}
		_, err = s.SwitchTools(t.Context(), "nowhere", []string{"s__a"}, true)
		wantFault(t, err, fault.CodeNotFound)
	})
}

func TestSwitchToolsLimits(t *testing.T) {
	s := sqliteStore(t)
	s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
	var names []string
	for i := range toolstate.MaxSwitched + 1 {
		names = append(names, fmt.Sprint("s__t", i))
	}
	for n, ok := range map[int]bool{0: false, 1: true, toolstate.MaxSwitched - 1: true, toolstate.MaxSwitched: true, toolstate.MaxSwitched + 1: false} {
		if _, err := s.SwitchTools(t.Context(), "p", names[:n], false); (err == nil) != ok {
			t.Errorf("SwitchTools() of %d tools: %v", n, err)
		}
	}
}
