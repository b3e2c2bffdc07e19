package api_test

import (
	"strings"
	"testing"

	"mcpgateway/web/webtest"
)

type groupRecord struct {
	ID, Name, Claim, Role string
	People                int
	Members               []struct {
		ID, Email     string
		Local, Active bool
		ClaimedAt     *string
	}
}

func TestGroupsAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		var ada personRecord
		a.admin(t, "POST", "/api/people", `{"email":"ada@example.com","role":"member"}`, 201, &ada)
		var eng, plain groupRecord
		a.admin(t, "POST", "/api/groups", `{"name":"Engineering","claim":"eng","role":"viewer"}`, 201, &eng)
		if eng.Name != "Engineering" || eng.Claim != "eng" || eng.Role != "viewer" || eng.People != 0 {
			t.Errorf("created %+v", eng)
		}
		a.admin(t, "POST", "/api/groups", `{"name":"Plain"}`, 201, &plain)
		path := "/api/groups/" + eng.ID
		for range 2 {
			a.admin(t, "PUT", path+"/members/"+ada.ID, "", 204, nil)
		}
		var shown groupRecord
		if a.admin(t, "GET", path, "", 200, &shown); shown.People != 1 || len(shown.Members) != 1 || shown.Members[0].ID != ada.ID || !shown.Members[0].Local || !shown.Members[0].Active || shown.Members[0].ClaimedAt != nil {
			t.Errorf("shown %+v", shown)
		}
		var people struct {
			Items []struct{ Role, EffectiveRole string }
		}
		if a.admin(t, "GET", "/api/people", "", 200, &people); people.Items[0].Role != "member" || people.Items[0].EffectiveRole != "viewer" {
			t.Errorf("user of the group = %+v", people.Items)
		}
		if a.admin(t, "PATCH", path, `{"role":""}`, 200, &shown); shown.Role != "" || shown.Claim != "eng" || shown.Name != "Engineering" {
			t.Errorf("changed %+v", shown)
		}
		for _, tt := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", "/api/groups", `{}`, 422, `"name"`},
			{"POST", "/api/groups", `{"name":"x","members":[]}`, 422, `"members"`},
			{"POST", "/api/groups", `{"name":"engineering"}`, 409, `"name"`},
			{"POST", "/api/groups", `{"name":"x","claim":"eng"}`, 409, `"claim"`},
			{"PATCH", path, `{"role":"owner"}`, 422, `"role"`},
			{"PATCH", path, `{"claim":"` + strings.Repeat("x", 257) + `"}`, 422, `"claim"`},
			{"PATCH", "/api/groups/x", `{"name":"y"}`, 404, "NOT_FOUND"},
			{"GET", "/api/groups/x", "", 404, "NOT_FOUND"},
			{"PUT", path + "/members/x", "", 404, "NOT_FOUND"},
			{"PUT", "/api/groups/x/members/" + ada.ID, "", 404, "NOT_FOUND"},
		} {
			webtest.Check(t, webtest.Case{WantBody: []string{tt.want}}, a.admin(t, tt.method, tt.path, tt.body, tt.status, nil))
		}
		var list struct{ Items []groupRecord }
		if a.admin(t, "GET", "/api/groups", "", 200, &list); len(list.Items) != 2 || list.Items[0].ID != eng.ID || list.Items[0].People != 1 {
			t.Errorf("listed %+v", list)
		}
		for range 2 {
			a.admin(t, "DELETE", path+"/members/"+ada.ID, "", 204, nil)
		}
		a.admin(t, "DELETE", path, "", 204, nil)
		a.admin(t, "DELETE", path, "", 404, nil)
		var audit auditList
		if a.admin(t, "GET", "/api/audit?object="+eng.ID, "", 200, &audit); audit.Count != 5 || audit.Items[0].Action != "group.deleted" || audit.Items[0].Actor.Kind != "token" {
			t.Errorf("audited %+v", audit)
		}
	})
}
