package oauthserver_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestGrantsListAndRevoke(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client := w.register(t)
		tokens := w.grant(t, "bob", client, "scope", "mcp:read offline_access")
		w.grant(t, "cy", client)
		grants, err := w.Grants(t.Context(), "bob")
		if err != nil || len(grants) != 1 {
			t.Fatalf("%+v, %v", grants, err)
		}
		want := oauthserver.Grant{
			ID: grants[0].ID, ClientName: "Test client", RedirectName: "127.0.0.1:4711", ProjectSlug: "oa", ProjectName: "Project oa", Scopes: []string{"mcp:read"},
			CreatedAt: w.Now(), LastUsedAt: w.Now(), ExpiresAt: w.Now().Add(oauthserver.RefreshIdle),
		}
		if d := cmp.Diff(want, grants[0]); d != "" {
			t.Errorf("grant (-want +got):\n%s", d)
		}
		failed(t, w.RevokeGrant(t.Context(), "cy", grants[0].ID), fault.CodeNotFound)
		if !w.opens(t, tokens.Access, "oa") {
			t.Fatal("other user revoked the grant")
		}
		if err := w.RevokeGrant(t.Context(), "bob", grants[0].ID); err != nil {
			t.Fatal(err)
		}
		if w.opens(t, tokens.Access, "oa") {
			t.Error("access token valid after revocation")
		}
		failed(t, w.RevokeGrant(t.Context(), "bob", grants[0].ID), fault.CodeNotFound)
		if grants, err = w.Grants(t.Context(), "bob"); err != nil || len(grants) != 0 {
			t.Errorf("%+v, %v", grants, err)
		}
		if d := cmp.Diff([]string{"client.registered", "oauth.consented", "oauth.consented", "oauth.grant_revoked"}, w.actions(t)); d != "" {
			t.Errorf("audit (-want +got):\n%s", d)
		}
	})
}

func TestClientsRevokeTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client, stranger := w.register(t), w.register(t, "http://127.0.0.1/other")
		revoke := func(client, token string) error {
			return w.Revoke(t.Context(), url.Values{"client_id": {client}, "token": {token}}, "")
		}
		for _, kind := range []string{"access", "refresh"} {
			tokens := w.grant(t, "bob", client)
			text := map[string]string{"access": tokens.Access.Reveal(), "refresh": tokens.Refresh.Reveal()}[kind]
			for _, harmless := range []error{revoke(stranger, text), revoke(client, "x"), revoke(client, "gwat_x")} {
				if harmless != nil {
					t.Error(harmless)
				}
			}
			if !w.opens(t, tokens.Access, "oa") {
				t.Fatal("other client revoked a token")
			}
			for range 2 {
				if err := revoke(client, text); err != nil {
					t.Fatal(err)
				}
			}
			if w.opens(t, tokens.Access, "oa") {
				t.Errorf("%s: access token still valid", kind)
			}
			_, err := w.refresh(t.Context(), client, tokens.Refresh.Reveal())
			refused(t, err, oauthserver.InvalidGrant)
		}
		refused(t, revoke("gwc_unknown", "x"), oauthserver.InvalidClient)
		refused(t, revoke(client, ""), oauthserver.InvalidRequest)
	})
}

func TestRevocationReachesOtherProcesses(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn)
		other := join(t, dsn, w.clock)
		defer other.run(t)()
		client := w.register(t)
		// Other programs use the processor: one fast round is enough.
		var took time.Duration
		for range 5 {
			if took = w.revokeElsewhere(t, other, client); took <= time.Second {
				return
			}
		}
		t.Errorf("revocation took %s", took)
	})
}

// revokeElsewhere revokes a grant and returns how long the other process
// accepted its token afterwards.
func (w *world) revokeElsewhere(t *testing.T, other *world, client string) time.Duration {
	t.Helper()
	tokens := w.grant(t, "bob", client)
	if !other.opens(t, tokens.Access, "oa") {
		t.Fatal("token issued by another process is not valid")
	}
	grants, err := w.Grants(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := w.RevokeGrant(t.Context(), "bob", grants[0].ID); err != nil {
		t.Fatal(err)
	}
	if w.opens(t, tokens.Access, "oa") {
		t.Error("revoking process still accepts the token")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for project := (models.Project{ID: "id-oa", OAuthAccess: models.OAuthAnyone}); ; <-tick.C {
		took := time.Since(begin)
		switch _, ok, err := other.index.Find(t.Context(), project.ID, "", tokens.Access.Reveal()); {
		case err != nil:
			t.Fatal(err)
		case !ok:
			return took
		case took > 30*time.Second:
			t.Fatal("other process not notified")
		}
	}
}
