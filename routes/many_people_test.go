package routes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
)

// TestPagesWithManyPeople requests the pages that choose people with as many as
// they list, and with more.
func TestPagesWithManyPeople(t *testing.T) {
	w := newFormWorld(t)
	people, err := w.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := func(n int) {
		t.Helper()
		email := fmt.Sprintf("many%03d@example.com", n)
		if err := w.Services.DB.Create(&models.User{ID: fmt.Sprintf("many%03d", n), Email: email, EmailFold: email, Name: fmt.Sprintf("Many %03d", n), Role: models.RoleMember}).Error; err != nil {
			t.Fatal(err)
		}
	}
	group := w.post(t, "/admin/groups", values("name", "Staff", "claim", "", "role", "none")).Location
	if !strings.HasPrefix(group, "/admin/groups/") {
		t.Fatalf("group: %q", group)
	}
	const access = "/admin/projects/p/access"
	body := func(path string) string {
		t.Helper()
		got := w.send(t, path, nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%s: status %d", path, got.Status)
		}
		return got.Body
	}

	last := admin.MaxShown - len(people) // the group is one more option of the access page
	for n := range last - 1 {
		add(n)
	}
	if !strings.Contains(body(access), ">many000@example.com</option>") {
		t.Error("the access page has no list of 100 people and groups")
	}
	add(last - 1)
	if got := body(access); strings.Contains(got, "many000@example.com</option>") || !strings.Contains(got, "name of the group") {
		t.Error("the access page lists 101 people and groups")
	}
	if !strings.Contains(body(group), "many000@example.com</option>") {
		t.Error("the page of a group has no list of 100 people")
	}
	add(last)
	if got := body(group); strings.Contains(got, "many000@example.com</option>") || !strings.Contains(got, `type="email"`) {
		t.Error("the page of a group lists 101 people")
	}

	for subject, want := range map[string]string{
		" MANY003@example.com ": "Access granted.", "staff": "Access granted.", "gone@example.com": "email address", "nobody": `group "nobody"`, "": "Choose a person",
	} {
		if got := w.post(t, access+"/grants", values("subject", subject, "tools", "project")); !strings.Contains(got.Flash+got.Body, want) && !strings.Contains(got.Flash+got.Body, strings.ReplaceAll(want, `"`, "&#34;")) {
			t.Errorf("grant to %q: %d %q, want %q", subject, got.Status, got.Flash, want)
		}
	}
	if got := body(access); !strings.Contains(got, "many003@example.com") || !strings.Contains(got, "Staff") {
		t.Error("the granted ones are missing")
	}
	for person, want := range map[string]string{"many004@example.com": "Member added.", "gone@example.com": "email address"} {
		if got := w.post(t, group+"/members", values("person", person)); !strings.Contains(got.Flash, want) {
			t.Errorf("add %q: %d %q, want %q", person, got.Status, got.Flash, want)
		}
	}

	for n := range last + 1 {
		if err := w.Services.Groups.AddMember(t.Context(), strings.TrimPrefix(group, "/admin/groups/"), fmt.Sprintf("many%03d", n)); err != nil && n != 4 {
			t.Fatal(err)
		}
	}
	for _, person := range people {
		if err := w.Services.Groups.AddMember(t.Context(), strings.TrimPrefix(group, "/admin/groups/"), person.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := body(group); !strings.Contains(got, "The first 100 of 101. Search to find the others.") {
		t.Error("the page of a group with 101 members doesn't say that it shows 100")
	}
	if got := body(group + "?query=many+007"); !strings.Contains(got, "Many 007") || strings.Contains(got, "Many 008") {
		t.Error("a search of members doesn't find only Many 007")
	}
	if got := body(group + "?query=zzz"); !strings.Contains(got, "No one matches") {
		t.Error("a search without results isn't explained")
	}
}
