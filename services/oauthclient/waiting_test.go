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

// TestWaitingServersAreKnownInMemory follows one server from before its first
// connection to the end of its authorization.
func TestWaitingServersAreKnownInMemory(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		waiting := oauthclient.NewWaiting(w.Connections)
		wait := func(topic notify.Topic, says string) {
			t.Helper()
			if err := waiting.Changed(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			why := waiting.Why(serverID)
			if (says == "") != (why == "") || !strings.Contains(why, says) || (waiting.Count() == 0) != (says == "") {
				t.Fatalf("%d wait: %q, want %q", waiting.Count(), why, says)
			}
		}
		if err := waiting.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(notify.Catalog(), "not connected yet")
		at := w.begin(t)
		wait(notify.Connection(serverID), "not connected yet") // begun is not finished
		if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
			t.Fatal(err)
		}
		wait(notify.Catalog(), "not connected yet") // another topic changes nothing
		wait(notify.Connection("another"), "not connected yet")
		wait(notify.Connection(serverID), "")

		p.set(func() {
			p.token = func(rw http.ResponseWriter, form url.Values) bool {
				answer(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "secret words of the provider"})
				return true
			}
		})
		p.revokeAccess()
		w.Advance(2 * oauthclient.FlowLifetime * 6)
		if _, err := w.Token(t.Context(), w.server(t)); err == nil {
			t.Fatal("a token came from a withdrawn authorization")
		}
		wait(notify.Toolset("p"), "authorization ended")
		if strings.Contains(waiting.Why(serverID), "secret words") {
			t.Error("clients read what the provider wrote")
		}
		if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Update("enabled", false).Error; err != nil {
			t.Fatal(err)
		}
		if err := notify.Touch(w.db, notify.Toolset("p")); err != nil {
			t.Fatal(err)
		}
		wait(notify.Toolset("p"), "") // nobody waits for a server that is off
	})
}

// TestARefusedRegistrationTellsWhereToGetAClient has no way to register, so
// that an administrator has to know the issuer and why nothing else was left.
func TestARefusedRegistrationTellsWhereToGetAClient(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		p.set(func() { p.noRegister = true })
		if _, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session}); err == nil {
			t.Fatal("it began without a registration")
		}
		s := w.wantState(t, oauthclient.RegistrationRejected, "")
		if s.Issuer != p.url || len(s.Because) != 4 || s.Because[3] != "no static client was entered" || s.Registration != "" {
			t.Errorf("got %+v", s)
		}
	})
}
