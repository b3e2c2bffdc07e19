package routes_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/catalog/requests"
	"mcpgateway/views/paths"
)

// TestRequestForServer follows a request from the page of a server to its approval.
func TestRequestForServer(t *testing.T) {
	w := newFormWorld(t)
	member, first := w.as(t, models.RoleMember)
	member.csrf = hiddenField(t, first.Body, "csrf")
	entry, err := w.Services.Catalog.Entry(w.entry)
	if err != nil {
		t.Fatal(err)
	}
	here := paths.RegistryEntry(entry.PublisherName, entry.ServerName)
	if got := (&browser{App: w.App, cookies: map[string]string{}}).send(t, here, nil); strings.Contains(got.Body, "What for") || !strings.Contains(got.Body, "Sign in to add it") {
		t.Error("the page of a visitor has the form of a request")
	}
	if got := w.send(t, here, nil); strings.Contains(got.Body, "What for") {
		t.Error("the page of an administrator has the form of a request")
	}
	if got := member.send(t, here, nil); !strings.Contains(got.Body, "What for") {
		t.Fatalf("the page of a member has no form: %d", got.Status)
	}
	if got := member.post(t, paths.MyRequests, url.Values{"entry": {entry.ID}, "reason": {" "}}); got.Location != here {
		t.Errorf("request without a reason: %d %s", got.Status, got.Location)
	}
	if got := member.post(t, paths.MyRequests, url.Values{"entry": {entry.ID}, "reason": {"Triage <b>"}}); got.Location != paths.MyRequests {
		t.Fatalf("request: %d %s", got.Status, got.Location)
	}
	if got := member.send(t, here, nil); strings.Contains(got.Body, "What for") || !strings.Contains(got.Body, "You requested it") {
		t.Error("the page offers a second request")
	}
	if got := member.send(t, paths.MyRequests, nil); !strings.Contains(got.Body, "Triage &lt;b&gt;") || !strings.Contains(got.Body, ">Open<") {
		t.Error("the request is not listed")
	}
	if got := w.send(t, paths.People, nil); !strings.Contains(got.Body, "1 server is requested: "+entry.PublisherName+"/"+entry.ServerName) {
		t.Error("administrators see no banner")
	}
	rows, err := w.Services.Requests.Queue(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d requests (%v)", len(rows), err)
	}
	queue := w.send(t, paths.CatalogRequests, nil)
	if !strings.Contains(queue.Body, "Triage &lt;b&gt;") || !strings.Contains(queue.Body, "member@example.com") {
		t.Error("the queue doesn't show the request")
	}
	if got := w.post(t, paths.CatalogRequest(rows[0].ID)+"/approve", url.Values{}); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "hoose either a project or a view") {
		t.Errorf("approval without a target: %d", got.Status)
	}
	if got := w.post(t, paths.CatalogRequest(rows[0].ID)+"/approve", url.Values{"target": {"project:p"}}); !strings.HasPrefix(got.Location, "/admin/projects/p/servers/") {
		t.Errorf("approval: %d %s", got.Status, got.Location)
	}
	if got := member.send(t, paths.MyRequests, nil); !strings.Contains(got.Body, ">Approved<") {
		t.Error("the requester doesn't see the approval")
	}
	if got := member.post(t, paths.WithdrawRequest(rows[0].ID), url.Values{}); got.Location != paths.MyRequests {
		t.Errorf("withdrawal of a decided request: %d %s", got.Status, got.Location)
	}
	if rows, err = w.Services.Requests.Queue(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%d requests (%v), the decided one was withdrawn", len(rows), err)
	}
	actions := w.audited(t)
	for _, action := range []string{"catalog.requested", "catalog.request_approved"} {
		if !slices.ContainsFunc(actions, func(a string) bool { return strings.HasPrefix(a, action+" ") }) {
			t.Errorf("%s is not audited: %v", action, actions)
		}
	}
}

func TestRequestCanBeWithdrawnByItsPersonOnly(t *testing.T) {
	w := newFormWorld(t)
	member, first := w.as(t, models.RoleMember)
	member.csrf = hiddenField(t, first.Body, "csrf")
	viewer, first := w.as(t, models.RoleViewer)
	viewer.csrf = hiddenField(t, first.Body, "csrf")
	row, err := w.Services.Requests.Add(t.Context(), requests.NewRequest{EntryID: w.entry, UserID: w.userID(t, "member@example.com"), Reason: "r"})
	if err != nil {
		t.Fatal(err)
	}
	viewer.post(t, paths.WithdrawRequest(row.ID), url.Values{})
	if rows, err := w.Services.Requests.Queue(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%d requests (%v) after the withdrawal by another person", len(rows), err)
	}
	member.post(t, paths.WithdrawRequest(row.ID), url.Values{})
	if rows, err := w.Services.Requests.Queue(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("%d requests (%v) after the withdrawal", len(rows), err)
	}
}
