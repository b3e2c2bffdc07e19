package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/groups"
	"mcpgateway/views/ui"
)

// TestGroupPages creates a group, gives its role to a member and takes it back.
func TestGroupPages(t *testing.T) {
	w := newFormWorld(t)
	member, first := w.as(t, models.RoleMember)
	if first.Location == "/admin" {
		t.Fatal("member starts on the administration")
	}
	people, err := w.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var id, email string
	for _, p := range people {
		if p.Role == models.RoleMember {
			id, email = p.ID, p.Email
		}
	}
	contains := func(b *browser, path string, wants ...string) {
		t.Helper()
		got := b.send(t, path, nil)
		for _, want := range wants {
			if got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
				t.Errorf("%s: status %d, lacks %q", path, got.Status, want)
			}
		}
	}
	contains(w.browser, "/admin/groups", "No groups yet")
	contains(w.browser, "/admin/people", `href="/admin/groups"`)
	created := w.post(t, "/admin/groups", values("name", "<b>Leads</b>", "claim", "leads-id", "role", "admin"))
	if created.Status != http.StatusSeeOther || !strings.HasPrefix(created.Location, "/admin/groups/") {
		t.Fatalf("create: %d %q %q", created.Status, created.Location, created.Flash)
	}
	group := created.Location
	contains(w.browser, "/admin/groups", "&lt;b&gt;Leads&lt;/b&gt;", "leads-id", "Administrator", "1 group")
	contains(w.browser, "/admin/groups?query=nothing", "No group matches", "0 of 1 group")
	contains(w.browser, group, "No members yet", email, `value="leads-id"`)

	if got := member.send(t, "/admin/settings", nil); got.Status != http.StatusForbidden {
		t.Errorf("settings for a member: %d", got.Status)
	}
	if got := w.post(t, group+"/members", values("person", id)); got.Flash != "Member added." {
		t.Errorf("add a member: %d %q", got.Status, got.Flash)
	}
	contains(member, "/admin/settings", "Settings") // the same session, at once
	contains(w.browser, group, "1 person", "Added here", `href="/admin/people/`+id)
	contains(w.browser, "/admin/people/"+id, "Administrator, from &lt;b&gt;Leads&lt;/b&gt;", "An administrator")
	contains(w.browser, "/admin/people", "by a group")

	// The group doesn't count for the rule that an administrator remains.
	var last string
	for _, p := range people {
		if p.Role == models.RoleAdmin {
			last = p.ID
		}
	}
	if err := w.Services.People.SetRole(t.Context(), last, models.RoleViewer); err == nil {
		t.Error("the only own administrator was demoted")
	}

	if got := w.post(t, group, values("name", "Leads", "claim", "leads-id", "role", "viewer", "seen", "stale")); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Claim value") {
		t.Errorf("stale form: %d", got.Status)
	}
	if got := w.post(t, group, values("name", "Leads", "claim", "", "role", "viewer")); got.Flash != "Saved." {
		t.Errorf("change: %d %q", got.Status, got.Flash)
	}
	if got := member.post(t, "/admin/groups", values("name", "x", "role", "none")); got.Status != http.StatusForbidden {
		t.Errorf("viewer creates a group: %d", got.Status)
	}
	viewed := member.send(t, group, nil)
	if viewed.Status != http.StatusOK || strings.Contains(viewed.Body, `method="post" action="/admin/groups`) {
		t.Errorf("page of a viewer: %d, or it has a form", viewed.Status)
	}
	if got := w.post(t, group+"/delete", values("confirm", "leads")); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Type Leads to delete the group.") {
		t.Errorf("unconfirmed deletion: %d", got.Status)
	}
	if got := w.post(t, group+"/delete", values("confirm", "Leads")); got.Location != "/admin/groups" {
		t.Errorf("delete: %d %q", got.Status, got.Location)
	}
	if got := member.send(t, "/admin/settings", nil); got.Status != http.StatusForbidden {
		t.Errorf("settings after the deletion: %d", got.Status)
	}
	if got := w.send(t, group, nil); got.Status != http.StatusNotFound {
		t.Errorf("deleted group: %d", got.Status)
	}
}

func TestGroupsOverageOnMe(t *testing.T) {
	w := newFormWorld(t)
	member, _ := w.as(t, models.RoleMember)
	people, err := w.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sentence := ui.Clean(access.GroupsOverage)
	for _, overage := range []bool{false, true, false} {
		for _, p := range people {
			if err := w.Services.Groups.Replace(t.Context(), p.ID, groups.Report{Overage: overage}); err != nil {
				t.Fatal(err)
			}
		}
		if got := member.send(t, "/me", nil); got.Status != http.StatusOK || strings.Contains(got.Body, sentence) != overage {
			t.Errorf("/me with overage %t: status %d", overage, got.Status)
		}
	}
}
