package declaration_test

import (
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

func TestRequestBodies(t *testing.T) {
	slug, p, err := declaration.ParseProject([]byte(`{"projectSlug":"a","authMode":"none","mcpServers":{"x":{"url":"https://x.example"}}}`))
	if err != nil || slug == nil || *slug != "a" || *p.AuthMode != models.AuthNone || *p.Servers["x"].URL != "https://x.example" {
		t.Errorf("%v %v %+v", err, slug, p)
	}
	alias, s, err := declaration.ParseServer([]byte(`{"url":"https://x.example"}`))
	if err != nil || alias != nil || *s.URL != "https://x.example" {
		t.Errorf("%v %v %+v", err, alias, s)
	}
	for body, path := range map[string]string{
		`{"slug":"a"}`: "slug", `{"Name":"a"}`: "Name", `{"codeMode":{"on":true}}`: "codeMode.on", `{"mcpServers":{"x":{"uri":"y"}}}`: "mcpServers.x.uri",
		`{"createdAt":"2027-01-01T00:00:00Z"}`: "createdAt", `{"name":null}`: "name", `[]`: "(body)", ``: "(body)", `{"name":"a","name":"b"}`: "(body)", `{"projectSlug":7}`: "projectSlug",
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65): "(body)",
	} {
		_, _, err := declaration.ParseProject([]byte(body))
		wantProblem(t, err, "", path)
	}
	for body, path := range map[string]string{
		`{"alias":7}`: "alias", `{"id":"x"}`: "id", `{"hasAuthBearer":true}`: "hasAuthBearer", `{"command":"npx"}`: "command", `{"type":"http"}`: "type", `{"serverUrl":"https://x.example"}`: "serverUrl",
		`{"oauth":{"id":"x"}}`: "oauth.id", `{"headers":{"a":1}}`: "headers.a",
	} {
		_, _, err := declaration.ParseServer([]byte(body))
		wantProblem(t, err, "", path)
	}
}
