package api_test

import (
	"strings"
	"testing"

	"mcpgateway/web/webtest"
)

type personRecord struct {
	ID, Email, Name, Role    string
	HasPassword, HasIdentity bool
	DisabledAt               *string
}

func TestPeopleAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		const password = "a long c4nary for the tests"
		var ada, bob personRecord
		a.admin(t, "POST", "/api/people", `{"email":"Ada@example.com","name":"Ada","role":"admin","password":"`+password+`"}`, 201, &ada)
		if ada.Email != "Ada@example.com" || ada.Role != "admin" || !ada.HasPassword || ada.HasIdentity || ada.DisabledAt != nil {
			t.Errorf("created %+v", ada)
		}
		a.admin(t, "POST", "/api/people", `{"email":"bob@example.com","role":"viewer"}`, 201, &bob)
		if bob.HasPassword || bob.Name != "bob" {
			t.Errorf("created %+v", bob)
		}
		path := "/api/people/" + bob.ID
		for _, step := range []struct {
			body string
			want func(personRecord) bool
		}{
			{`{"name":"Bob"}`, func(p personRecord) bool { return p.Name == "Bob" }}, {`{"role":"member"}`, func(p personRecord) bool { return p.Role == "member" }},
			{`{"disabled":true}`, func(p personRecord) bool { return p.DisabledAt != nil }}, {`{"disabled":false}`, func(p personRecord) bool { return p.DisabledAt == nil }},
			{`{"password":"` + password + ` 2"}`, func(p personRecord) bool { return p.HasPassword }},
		} {
			var got personRecord
			if a.admin(t, "PATCH", path, step.body, 200, &got); !step.want(got) || got.ID != bob.ID {
				t.Errorf("%s: %+v", step.body, got)
			}
		}
		// No change is partial.
		for _, body := range []string{`{}`, `{"name":"x","role":"viewer"}`, `{"disabled":true,"password":"` + password + `"}`, `{"email":"x@example.com"}`, `{"role":"boss"}`, `{"password":"short"}`, `{"name":""}`} {
			webtest.Check(t, webtest.Case{WantBody: []string{"VALIDATION_FAILED"}}, a.admin(t, "PATCH", path, body, 422, nil))
		}
		last := "/api/people/" + ada.ID
		for _, body := range []string{`{"role":"viewer"}`, `{"disabled":true}`} {
			a.admin(t, "PATCH", last, body, 409, nil)
		}
		a.admin(t, "DELETE", last, "", 409, nil)
		var list struct{ Items []personRecord }
		if a.admin(t, "GET", "/api/people", "", 200, &list); len(list.Items) != 2 || list.Items[1].Name != "Bob" || list.Items[1].Role != "member" {
			t.Errorf("listed %+v", list)
		}
		a.admin(t, "DELETE", path, "", 204, nil)
		a.admin(t, "DELETE", path, "", 404, nil)
		a.admin(t, "PATCH", path, `{"name":"x"}`, 404, nil)
		var audit auditList
		answer := a.admin(t, "GET", "/api/audit?object="+bob.ID, "", 200, &audit)
		if audit.Count < 6 || audit.Items[0].Action != "person.deleted" || audit.Items[0].Actor.Kind != "token" {
			t.Errorf("audited %+v", audit)
		}
		if strings.Contains(answer.Body+a.Log.String(), "c4nary") {
			t.Error("response contains a password")
		}
	})
}
