package api_test

import (
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/secrets"
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
		var list struct{ Items []personRecord }
		for _, value := range []string{`"` + password + `"`, `""`, `null`} {
			got := a.admin(t, "POST", "/api/people", `{"email":"Ada@example.com","name":"Ada","role":"admin","password":`+value+`}`, map[bool]int{true: 201, false: 422}[value == `null`], nil)
			if value != `null` {
				webtest.Check(t, webtest.Case{WantBody: []string{"VALIDATION_FAILED", "POST /api/invitations"}}, got)
			}
		}
		a.admin(t, "GET", "/api/people", "", 200, &list)
		ada = list.Items[0]
		a.join(t, ada.ID, password)
		if a.admin(t, "GET", "/api/people", "", 200, &list); !list.Items[0].HasPassword {
			t.Errorf("joined %+v", list.Items[0])
		}
		if ada.Email != "Ada@example.com" || ada.Role != "admin" || ada.HasPassword || ada.HasIdentity || ada.DisabledAt != nil {
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
		} {
			var got personRecord
			if a.admin(t, "PATCH", path, step.body, 200, &got); !step.want(got) || got.ID != bob.ID {
				t.Errorf("%s: %+v", step.body, got)
			}
		}
		// No change is partial.
		for _, body := range []string{`{}`, `{"name":"x","role":"viewer"}`, `{"disabled":true,"password":"` + password + `"}`, `{"email":"x@example.com"}`, `{"role":"boss"}`, `{"password":"` + password + `"}`, `{"name":""}`} {
			webtest.Check(t, webtest.Case{WantBody: []string{"VALIDATION_FAILED"}}, a.admin(t, "PATCH", path, body, 422, nil))
		}
		last := "/api/people/" + ada.ID
		for _, body := range []string{`{"role":"viewer"}`, `{"disabled":true}`} {
			a.admin(t, "PATCH", last, body, 409, nil)
		}
		a.admin(t, "DELETE", last, "", 409, nil)
		if a.admin(t, "GET", "/api/people", "", 200, &list); len(list.Items) != 2 || list.Items[1].Name != "Bob" || list.Items[1].Role != "member" {
			t.Errorf("listed %+v", list)
		}
		a.admin(t, "DELETE", path, "", 204, nil)
		a.admin(t, "DELETE", path, "", 404, nil)
		a.admin(t, "PATCH", path, `{"name":"x"}`, 404, nil)
		var audit auditList
		answer := a.admin(t, "GET", "/api/audit?object="+bob.ID, "", 200, &audit)
		if audit.Count < 5 || audit.Items[0].Action != "person.deleted" || audit.Items[0].Actor.Kind != "token" {
			t.Errorf("audited %+v", audit)
		}
		if strings.Contains(answer.Body+a.Log.String(), "c4nary") {
			t.Error("response contains a password")
		}
	})
}

type linkRecord struct {
	PersonID, Link, ExpiresAt string
	Mailed                    *bool
}

// join accepts the invitation of a user through a renewed link.
func (a *app) join(t *testing.T, id, password string) {
	t.Helper()
	var link linkRecord
	a.admin(t, "POST", "/api/invitations", `{"personId":"`+id+`"}`, 201, &link)
	token, found := strings.CutPrefix(link.Link, a.Services.Config.PublicURL.String()+"/invite/")
	if !found || link.PersonID != id || link.ExpiresAt == "" {
		t.Fatalf("link %+v", link)
	}
	form := access.InviteForm{Token: secrets.NewValue(token), Password: secrets.NewValue(password)}
	if _, err := a.Services.People.AcceptInvite(t.Context(), form, access.Browser{IP: "192.0.2.1"}); err != nil {
		t.Fatal(err)
	}
}

func TestInvitationsAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		const password = "a long c4nary for the tests"
		var link, reset linkRecord
		a.admin(t, "POST", "/api/invitations", `{"email":"ada@example.com","name":"Ada","role":"viewer"}`, 201, &link)
		a.admin(t, "POST", "/api/invitations", `{"email":"ada@example.com","role":"viewer"}`, 409, nil)
		for _, body := range []string{`{}`, `{"email":"x@example.com"}`, `{"email":"x@example.com","role":"viewer","password":"` + password + `"}`, `{"personId":"` + link.PersonID + `","role":"viewer"}`, `{"email":"x@example.com","role":"viewer","mail":true}`} {
			a.admin(t, "POST", "/api/invitations", body, 422, nil)
		}
		a.admin(t, "POST", "/api/invitations", `{"personId":"none"}`, 404, nil)
		path := "/api/people/" + link.PersonID + "/reset"
		a.admin(t, "POST", path, "", 409, nil) // has not joined
		a.join(t, link.PersonID, password)
		a.admin(t, "POST", "/api/invitations", `{"personId":"`+link.PersonID+`"}`, 409, nil) // has joined
		a.admin(t, "POST", path, `{"mail":true}`, 422, nil)
		a.admin(t, "POST", path, `{"password":"`+password+`"}`, 422, nil)
		a.admin(t, "POST", "/api/people/none/reset", "", 404, nil)
		a.admin(t, "POST", path, "", 201, &reset)
		token, found := strings.CutPrefix(reset.Link, a.Services.Config.PublicURL.String()+"/reset/")
		if !found || reset.PersonID != link.PersonID || reset.Mailed != nil {
			t.Fatalf("reset %+v", reset)
		}
		if err := a.Services.People.ResetPassword(t.Context(), secrets.NewValue(token), secrets.NewValue(password+" 2"), access.Browser{IP: "192.0.2.1"}); err != nil {
			t.Error(err)
		}
		a.admin(t, "PATCH", "/api/people/"+link.PersonID, `{"disabled":true}`, 200, nil)
		a.admin(t, "POST", path, "", 409, nil)
		for range attempts.MaxLinksPerUser {
			if got := a.send(t, "POST", path, routestest.AdminToken, ""); got.Status == 429 {
				return
			}
		}
		t.Error("links of a person are not limited")
	})
}
