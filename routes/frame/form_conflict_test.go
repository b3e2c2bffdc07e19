package frame_test

import (
	"html"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

// A form contains everything that it shows. Saving an old page would revert the
// changes that another user saved in the meantime.
func TestOutdatedFormIsRejected(t *testing.T) {
	const settings = "/admin/projects/p/settings"
	project := func(change ...string) url.Values {
		form := url.Values{"name": {"P"}, "description": {""}, "authMode": {"api_key"}, "toolExposure": {"full"},
			"toolNameLimit": {"0"}, "rateLimit.perSecond": {"0"}, "rateLimit.burst": {"0"}}
		for i := 0; i < len(change); i += 2 {
			form.Set(change[i], change[i+1])
		}
		return form
	}
	a := routestest.NewAdmin(t)
	server := "/admin/projects/p/servers/" + a.ServerID(t, "p", "clock")
	_, edit, _ := a.Send(t, server+"/edit", nil)
	address := html.UnescapeString(regexp.MustCompile(`name="url" [^>]*value="([^"]*)"|value="([^"]*)"[^>]* name="url"`).FindString(edit))
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+`).FindString(address)
	if address == "" {
		t.Fatalf("no address in %s", edit)
	}
	behaviour := url.Values{"alias": {"clock"}, "url": {address}, "transport": {"auto"}, "timeout": {"60"}, "maxConcurrent": {"512"}, "sessionMode": {"shared"}, "definitionPolicy": {"follow"}}
	a.Apply(t, `{"projects":{"o":{"authMode":"api_key","mcpServers":{"tickets":{"url":"`+address+`","authType":"oauth"}}}}}`)
	connection := "/admin/connections/" + a.ServerID(t, "o", "tickets")
	grace, err := a.Services.People.Create(t.Context(), access.NewUser{Email: "grace@example.com", Name: "Grace", Role: models.RoleAdmin, Password: secrets.NewValue("another long password")})
	if err != nil {
		t.Fatal(err)
	}
	person := "/admin/people/" + grace.ID
	with := func(form url.Values, name, value string) url.Values {
		form = maps.Clone(form)
		form.Set(name, value)
		return form
	}
	for name, c := range map[string]struct {
		page, post  string
		first, late url.Values
		says        string
	}{
		"settings":               {settings, settings, project("authMode", "oauth"), project("description", "new"), "Clients sign in with is “oauth”"},
		"code mode":              {"/admin/projects/p/code-mode/settings", "/admin/projects/p/code-mode/settings", url.Values{"timeout": {"10"}}, url.Values{"enabled": {"1"}, "timeout": {"20"}}, "Code Mode is “Off”"},
		"server":                 {server + "/edit", server + "/edit", with(behaviour, "definitionPolicy", "approve"), with(behaviour, "timeout", "30"), "New and changed tools is “approve”"},
		"choice of tools":        {server + "/filters", server + "/choose", url.Values{"tool": {"current_time"}, "later": {"hide"}}, url.Values{"later": {"hide"}}, "Turn on is “current_time”"},
		"patterns":               {server + "/filters?allow=a*", server + "/filters", url.Values{"deny": {"a*"}}, url.Values{"deny": {"b*"}}, "Turn off is “a*”"},
		"person":                 {person, person, url.Values{"name": {"Grace"}, "role": {"viewer"}}, url.Values{"name": {"Grace H."}, "role": {"admin"}}, "Role is “viewer”"},
		"client of a connection": {connection, connection + "/client", url.Values{"oauth.clientId": {"one"}, "oauth.clientSecret": {"s"}}, url.Values{"oauth.clientId": {"two"}, "oauth.clientSecret": {"s"}, "oauth.scopes": {"a"}}, "Client ID is “one”"},
		"credentials":            {server + "/edit", server + "/credentials", url.Values{"authType": {"bearer"}, "authBearer": {"token"}}, url.Values{"authType": {"none"}}, "Method is “bearer”"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := func(body string) string {
				found := regexp.MustCompile(`(?s)action="` + regexp.QuoteMeta(c.post) + `".*?name="seen" value="([^"]+)"`).FindStringSubmatch(body)
				if found == nil {
					t.Fatalf("form lacks the fingerprint: %s", body)
				}
				return found[1]
			}
			_, body, _ := a.Send(t, c.page, nil)
			opened := seen(body)
			if status, body, _ := a.Send(t, c.post, with(c.first, "seen", opened)); status != 303 {
				t.Fatalf("first save: status %d: %s", status, body)
			}
			status, body, _ := a.Send(t, c.post, with(c.late, "seen", opened))
			if status != 422 || !strings.Contains(html.UnescapeString(body), c.says) {
				t.Fatalf("late save: status %d: %s", status, body)
			}
			if again := seen(body); again == opened {
				t.Error("form has the old fingerprint")
			} else if status, body, _ := a.Send(t, c.post, with(c.late, "seen", again)); status != 303 {
				t.Errorf("second save: status %d: %s", status, body)
			}
		})
	}
}
