package oauthclient_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
)

// TestPendingAuthFollowsConnection follows a server from before its first
// connection to the end of its authorization.
func TestPendingAuthFollowsConnection(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		waiting := oauthclient.NewWaiting(w.Connections)
		wait := func(topic notify.Topic, text string) {
			t.Helper()
			if err := waiting.Changed(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			why := waiting.Reason(serverID)
			if (text == "") != (why == "") || !strings.Contains(why, text) || (len(waiting.Servers()) == 0) != (text == "") {
				t.Fatalf("%d servers, Why() = %q, want %q", len(waiting.Servers()), why, text)
			}
			for _, s := range waiting.Servers() {
				if want := (oauthclient.PendingServer{ID: serverID, Alias: w.server(t).Alias, WasConnected: !strings.Contains(why, "must connect it")}); s != want {
					t.Errorf("Servers() has %+v, want %+v", s, want)
				}
			}
		}
		if err := waiting.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(notify.Catalog(), "administrator must connect it")
		at := w.begin(t)
		wait(notify.Connection(serverID), "administrator must connect it") // started, but not finished
		if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
			t.Fatal(err)
		}
		wait(notify.Catalog(), "administrator must connect it") // other topics are ignored
		wait(notify.Connection("another"), "administrator must connect it")
		wait(notify.Connection(serverID), "")

		p.set(func() {
			p.token = func(rw http.ResponseWriter, form url.Values) bool {
				respond(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "secret words of the provider"})
				return true
			}
		})
		p.revokeAccess()
		w.Advance(2 * oauthclient.FlowLifetime * 6)
		if _, err := w.Token(t.Context(), w.server(t), ""); err == nil {
			t.Fatal("Token() succeeded after revocation")
		}
		wait(notify.Toolset("p"), "authorization expired")
		if strings.Contains(waiting.Reason(serverID), "secret words") {
			t.Error("Why() contains the provider's text")
		}
		if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Update("enabled", false).Error; err != nil {
			t.Fatal(err)
		}
		if err := notify.Touch(w.db, notify.Toolset("p")); err != nil {
			t.Fatal(err)
		}
		wait(notify.Toolset("p"), "") // disabled servers don't count
	})
}

// TestRejectedRegistrationStoresIssuer checks that an administrator sees the
// issuer and the reasons.
func TestRejectedRegistrationStoresIssuer(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		p.set(func() { p.noRegister = true })
		if _, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session}); err == nil {
			t.Fatal("Start() succeeded without a registration")
		}
		s := w.wantState(t, oauthclient.RegistrationRejected, "")
		if s.Issuer != p.url || len(s.RegistrationReason) != 4 || s.RegistrationReason[3] != "no static client was entered" || s.Registration != "" {
			t.Errorf("got %+v", s)
		}
	})
}
