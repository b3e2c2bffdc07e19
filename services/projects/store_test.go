package projects_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
)

func TestReadProjectsAndServers(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, `{"projects":{"b":{},"a":{"mcpServers":{"y":{"url":"https://y.example"},"x":{"url":"https://x.example"}}}}}`)
		all, err := s.Projects(t.Context())
		if err != nil || len(all) != 2 || all[0].Slug != "a" || all[1].Slug != "b" {
			t.Errorf("projects %+v, %v", all, err)
		}
		servers, err := s.Servers(t.Context(), all[0].ID)
		if err != nil || len(servers) != 2 || servers[0].Alias != "x" || servers[1].Alias != "y" {
			t.Errorf("servers %+v, %v", servers, err)
		}
		if got, err := s.Server(t.Context(), servers[1].ID); err != nil || got.Alias != "y" {
			t.Errorf("server %+v, %v", got, err)
		}
		if got, err := s.ProjectByID(t.Context(), all[1].ID); err != nil || got.Slug != "b" {
			t.Errorf("project %+v, %v", got, err)
		}
		if got, err := s.Inventories(t.Context(), all[0].ID); err != nil || len(got) != 0 {
			t.Errorf("inventories %+v, %v", got, err)
		}
		if err := s.db.Create(&models.Inventory{ServerID: servers[0].ID, AttemptedAt: s.now, ErrorCode: "X"}).Error; err != nil {
			t.Fatal(err)
		}
		if got, err := s.Inventories(t.Context(), all[0].ID); err != nil || len(got) != 1 || got[servers[0].ID].ErrorCode != "X" {
			t.Errorf("inventories %+v, %v", got, err)
		}
		_, err = s.Server(t.Context(), "unknown")
		wantFault(t, err, fault.CodeNotFound)
		_, err = s.ProjectByID(t.Context(), "unknown")
		wantFault(t, err, fault.CodeNotFound)
		_, err = s.Project(t.Context(), "B")
		wantFault(t, err, fault.CodeNotFound)
	})
}

func TestSetTool(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, `{"projects":{"p":{"disabledTools":["s__z"],"mcpServers":{"s":{"url":"https://s.example"}}},"q":{}}}`)
		server := s.server(t, "p", "s")
		s.addTools(t, server.ID, "a", "b__c")
		s.feed.take()
		approved := func(tool string) string {
			var row models.Tool
			if err := s.db.First(&row, "server_id = ? AND name = ?", server.ID, tool).Error; err != nil {
				t.Fatal(err)
			}
			return row.ApprovedHash
		}
		for i, step := range []struct {
			name              string
			enabled, approved *bool
			off               []string
			hashA, hashB      string
		}{
			{"s__b__c", new(false), nil, []string{"s__b__c", "s__z"}, "", ""},
			{"s__a", new(false), nil, []string{"s__a", "s__b__c", "s__z"}, "", ""},
			{"s__a", new(false), nil, []string{"s__a", "s__b__c", "s__z"}, "", ""},
			{"s__b__c", new(true), new(true), []string{"s__a", "s__z"}, "", "hash of b__c"},
			{"s__a", nil, new(true), []string{"s__a", "s__z"}, "hash of a", "hash of b__c"},
			{"s__b__c", nil, new(false), []string{"s__a", "s__z"}, "hash of a", ""},
		} {
			if err := s.SetTool(t.Context(), "p", step.name, step.enabled, step.approved); err != nil {
				t.Fatal(err)
			}
			p, err := s.Project(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(step.off, []string(p.DisabledTools)); d != "" || approved("a") != step.hashA || approved("b__c") != step.hashB {
				t.Errorf("after %+v: hashes %q and %q, disabled tools (-want +got):\n%s", step, approved("a"), approved("b__c"), d)
			}
			want := []notify.Topic{notify.Toolset(p.ID)}
			if i == 2 { // changes nothing
				want = nil
			}
			if d := cmp.Diff(want, s.feed.take()); d != "" {
				t.Errorf("announced (-want +got):\n%s", d)
			}
		}
		before := s.everything(t)
		for _, name := range []string{"s__unknown", "S__a", "a", "s__", "other__a", ""} {
			wantFault(t, s.SetTool(t.Context(), "p", name, new(false), nil), fault.CodeNotFound)
		}
		wantFault(t, s.SetTool(t.Context(), "q", "s__a", new(false), nil), fault.CodeNotFound)
		wantFault(t, s.SetTool(t.Context(), "nowhere", "s__a", new(false), nil), fault.CodeNotFound)
		if d := cmp.Diff(before, s.everything(t)); d != "" || len(s.feed.take()) > 0 {
			t.Errorf("rejected changes were stored (-want +got):\n%s", d)
		}
	})
}

func TestConcurrentSetTool(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		const n = 16
		s.apply(t, inServer(`"enabled":true`))
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("t%02d", i)
		}
		s.addTools(t, s.server(t, "p", "s").ID, names...)
		var switching sync.WaitGroup
		for i, name := range names {
			switching.Go(func() {
				if err := s.SetTool(context.Background(), "p", "s__"+name, new(false), nil); err != nil {
					t.Error(err)
				}
			})
			if i%4 == 0 { // concurrent applies lose none of the changes
				switching.Go(func() {
					if _, err := s.tryApply(t, inProject(`"name":`+quote(name))); err != nil {
						t.Error(err)
					}
				})
			}
		}
		switching.Wait()
		p, err := s.Project(t.Context(), "p")
		if err != nil || len(p.DisabledTools) != n {
			t.Errorf("%d of %d tools are disabled: %v, %v", len(p.DisabledTools), n, p.DisabledTools, err)
		}
	})
}

func TestConcurrentAppliesOfReplicas(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		const replicas = 4
		stores := make([]*store, replicas)
		for i := range stores {
			stores[i] = newStore(t, modelstest.Open(t, dsn))
		}
		creations := make([]int, replicas)
		var applying sync.WaitGroup
		for i, s := range stores {
			applying.Go(func() {
				plan, err := s.tryApply(t, twoServers, projects.ApplyOptions{Prune: true})
				if err != nil {
					t.Errorf("replica %d: %v", i, err)
				}
				for _, c := range plan.Changes {
					if c.Action == projects.ActionCreate {
						creations[i]++
					}
				}
			})
		}
		applying.Wait()
		total := 0
		for _, n := range creations {
			total += n
		}
		if total != 3 {
			t.Errorf("%v creations of one project and two servers", creations)
		}
		if row := stores[0].server(t, "p", "b"); row.ConfigVersion != 1 {
			t.Errorf("the configuration changed %d times", row.ConfigVersion)
		}
	})
}
