package api_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
)

type catalogRequest struct {
	ID, EntryID, EntryName, PersonID, ProjectSlug, Reason, State, Answer, DecidedBy string
	DecidedAt                                                                       *string
}

func TestCatalogRequestsAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		w := newOwnWorld(t, a)
		remote, program := "", ""
		for _, e := range catalogEntries(t, a) {
			switch {
			case remote == "" && e.RemoteURL != "" && e.AuthType == "oauth":
				remote = e.ID
			case program == "" && e.RemoteURL == "":
				program = e.ID
			}
		}
		body := func(entry, project, reason string) string {
			return fmt.Sprintf(`{"entryId":%q,"projectSlug":%q,"reason":%q}`, entry, project, reason)
		}
		const list = "/api/catalog/requests"
		var first, second, third catalogRequest
		w.request(t, w.ann, "POST", list, body(remote, "p", " Triage\u202e of issues "), 201, &first)
		if first.State != "open" || first.ProjectSlug != "p" || first.PersonID != w.ids[w.ann] || first.Reason != "Triage of issues" || first.EntryID != remote || !strings.Contains(first.EntryName, "/") {
			t.Errorf("created %+v", first)
		}
		w.request(t, w.bob, "POST", list, body(remote, "", strings.Repeat("é", 500)), 201, &second)
		w.request(t, w.bob, "POST", list, body(program, "", "Notes"), 201, &third)
		for _, tt := range []struct {
			body   string
			status int
		}{
			{body(remote, "p", "again"), 409},
			{body(remote, "theirs", "x"), 404},
			{body("unknown-entry", "", "x"), 404},
			{body(program, "", " \t"), 422},
			{body(program, "", strings.Repeat("é", 501)), 422},
			{`{"entryId":"x","reason":"y","wish":1}`, 422},
		} {
			w.request(t, w.ann, "POST", list, tt.body, tt.status, nil)
		}
		w.request(t, w.ann, "GET", list, "", 403, nil)
		w.request(t, w.ann, "POST", list+"/"+first.ID+"/approve", `{"projectSlug":"p"}`, 403, nil)

		decide := func(id, action, body string, status int, into any) {
			t.Helper()
			a.admin(t, "POST", list+"/"+id+"/"+action, body, status, into)
		}
		decide(first.ID, "approve", `{}`, 422, nil)
		decide(first.ID, "approve", `{"projectSlug":"p","view":"v"}`, 422, nil)
		decide(first.ID, "approve", `{"projectSlug":"unknown"}`, 404, nil)
		decide(third.ID, "approve", `{"projectSlug":"p"}`, 422, nil)
		decide(second.ID, "refuse", `{"answer":" "}`, 422, nil)
		decide("unknown", "refuse", `{"answer":"no"}`, 404, nil)
		decide(first.ID, "approve", `{"projectSlug":"p","answer":"Added."}`, 200, &first)
		if first.State != "approved" || first.Answer != "Added." || first.DecidedAt == nil {
			t.Errorf("approved %+v", first)
		}
		p, err := a.Services.Directory.Project("p")
		if err != nil || len(p.Servers) != 2 {
			t.Errorf("project has %d servers (%v), want 2", len(p.Servers), err)
		}
		decide(first.ID, "approve", `{"projectSlug":"p"}`, 409, nil)
		decide(first.ID, "refuse", `{"answer":"no"}`, 409, nil)
		decide(second.ID, "refuse", `{"answer":"Use the other one."}`, 200, &second)
		if second.State != "refused" || second.Answer != "Use the other one." {
			t.Errorf("refused %+v", second)
		}
		var queue struct{ Items []catalogRequest }
		a.admin(t, "GET", list, "", 200, &queue)
		if len(queue.Items) != 3 || queue.Items[0].ID != third.ID || queue.Items[0].State != "open" {
			t.Errorf("queue = %+v", queue.Items)
		}
	})
}

func TestOpenRequestsOfPersonAreLimited(t *testing.T) {
	a := onSQLite(t)
	w := newOwnWorld(t, a)
	entries := catalogEntries(t, a)
	for i := range 21 {
		status := 201
		if i == 20 {
			status = 409
		}
		w.request(t, w.ann, "POST", "/api/catalog/requests", fmt.Sprintf(`{"entryId":%q,"reason":"r"}`, entries[i].ID), status, nil)
	}
}

// catalogEntries returns the entries of the built-in data.
func catalogEntries(t *testing.T, a *app) []*models.CatalogEntry {
	t.Helper()
	if err := a.Services.CatalogStore.LoadDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Services.Catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a.Services.Catalog.AllEntries()
}

// TestRequestsAreApprovedIntoLists approves a program, which no project can have.
func TestRequestsAreApprovedIntoLists(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		w := newOwnWorld(t, a)
		entry := ""
		for _, e := range catalogEntries(t, a) {
			if e.RemoteURL == "" {
				entry = e.ID
			}
		}
		for _, view := range []models.CatalogView{{ID: "v1", Name: "team", Kind: models.ViewList}, {ID: "v2", Name: "all", Kind: models.ViewQuery}} {
			if err := a.Services.DB.Create(&view).Error; err != nil {
				t.Fatal(err)
			}
		}
		var request catalogRequest
		w.request(t, w.ann, "POST", "/api/catalog/requests", fmt.Sprintf(`{"entryId":%q,"reason":"r"}`, entry), 201, &request)
		approve := "/api/catalog/requests/" + request.ID + "/approve"
		for _, unknown := range []string{"unknown", "v1"} {
			a.admin(t, "POST", approve, fmt.Sprintf(`{"view":%q}`, unknown), 404, nil)
		}
		a.admin(t, "POST", approve, `{"view":"all"}`, 409, nil) // has a query
		a.admin(t, "POST", approve, `{"view":"team"}`, 200, &request)
		if request.State != "approved" || request.DecidedBy != "" { // decided with the administration token
			t.Errorf("approved %+v", request)
		}
		var listed []models.CatalogViewEntry
		if err := a.Services.DB.Find(&listed).Error; err != nil || len(listed) != 1 || listed[0].ViewID != "v1" || listed[0].EntryID != entry {
			t.Errorf("listed %+v (%v)", listed, err)
		}
	})
}
