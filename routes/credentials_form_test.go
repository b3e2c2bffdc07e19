package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/certificates/certificatestest"
)

// TestCredentialsForm saves the less common credentials of a server by its form.
func TestCredentialsForm(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"https://one.example.com/mcp"}}}}}`)
	id := a.ServerID(t, "p", "s")
	page := "/admin/projects/p/servers/" + id
	ours := certificatestest.New(t)
	certificate, key := ours.Issue(t)
	stored := func() models.Server {
		t.Helper()
		row, err := a.Services.Projects.Server(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	save := func(form url.Values, want int, contains string) {
		t.Helper()
		status, body, _ := a.Send(t, page+"/credentials", form)
		if status != want || !strings.Contains(body, contains) {
			t.Fatalf("%v: %d, want %d with %q: %.600s", form, status, want, contains, body)
		}
	}
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	form := url.Values{
		"authType": {"oauth"}, "oauth.grant": {"client_credentials"}, "oauth.authMethod": {"private_key_jwt"}, "oauth.clientId": {"id"}, "oauth.privateKey": {crlf(key)}, "oauth.keyId": {"kid"},
		"tls.ca": {crlf(ours.PEM)}, "tls.cert": {crlf(certificate)}, "tls.key": {crlf(key)}, "forwardHeaders": {"X-Team\r\nX-From: X-To\r\n"},
	}
	save(form, http.StatusSeeOther, "")
	row := stored()
	if row.OAuthGrant != models.GrantClientCredentials || row.OAuthClientAuth != models.PrivateKeyJWT || row.OAuthPrivateKey == "" || row.OAuthKeyID != "kid" ||
		row.TLSAuthority != ours.PEM || row.TLSCert != certificate || row.TLSKey == "" || row.ForwardHeaders["X-Team"] != "X-Team" || row.ForwardHeaders["X-From"] != "X-To" {
		t.Fatalf("stored %+v", row)
	}
	_, body, _ := a.Send(t, page+"/edit", nil)
	for _, part := range []string{"BEGIN CERTIFICATE", "X-From: X-To", `value="kid"`, "Remove stored private key"} {
		if !strings.Contains(body, part) {
			t.Errorf("the form lacks %q", part)
		}
	}
	if strings.Contains(body, "PRIVATE KEY-----") || strings.Contains(body, row.TLSKey) {
		t.Error("the form contains a private key")
	}
	version := row.ConfigVersion
	form.Set("oauth.privateKey", "")
	form.Set("tls.key", "")
	save(form, http.StatusSeeOther, "")
	if row = stored(); row.ConfigVersion != version {
		t.Error("the same values changed the server")
	}
	form.Set("forwardHeaders", "Cookie: X-To")
	save(form, http.StatusUnprocessableEntity, "is never forwarded")
	form.Set("forwardHeaders", "")
	form.Set("tls.ca", "no PEM")
	save(form, http.StatusUnprocessableEntity, "not in PEM format")
	form.Set("tls.ca", "")

	// Another method drops what it doesn't use.
	form.Set("authType", "none")
	form.Set("tls.cert", "")
	form.Set("clearTLSKey", "on")
	save(form, http.StatusSeeOther, "")
	if row = stored(); row.OAuthGrant != models.GrantCode || row.OAuthPrivateKey != "" || row.OAuthKeyID != "" || row.TLSAuthority+row.TLSCert+row.TLSKey != "" || len(row.ForwardHeaders) != 0 {
		t.Errorf("left over: %+v", row)
	}
}
