package routes_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

func TestProjectsPage(t *testing.T) {
	a := withPeople(t, "ada@example.com")
	a.Apply(t, `{"projects":{"support":{"name":"Support desk","authMode":"none","mcpServers":{}}}}`)
	in, err := a.Services.People.SignIn(t.Context(), "ada@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/admin/projects", "/admin"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1:8080"
		r.AddCookie(&http.Cookie{Name: "sid", Value: in.Cookie.Reveal()})
		answer, err := a.Test(r, -1)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.Body.Close() != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "Support desk") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
}
