package services_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/config"
	"mcpgateway/services/declaration"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

const (
	oldKey = "old:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	newKey = "new:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
)

// withKeys returns services with a key ring on a database, without running
// them.
func withKeys(t *testing.T, dsn, ring string) *services.Services {
	t.Helper()
	c, err := config.Load([]string{"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADDR=127.0.0.1:8080", "GATEWAY_SECRETS_KEYS=" + ring}, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := services.New(t.Context(), c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSecretBox seals every kind of secret with one key, rotates to another,
// and checks that the first is no longer needed (security requirement C09).
func TestSecretBox(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := withKeys(t, dsn, oldKey)
		d, err := declaration.Parse([]byte(`{"projects":{"p":{"mcpServers":{
			"a":{"url":"http://127.0.0.1:1/?key=the+query+value&other=${A_TOKEN}","authType":"bearer","authBearer":"the bearer","headers":{"X-A":"the header","X-B":"${A_TOKEN}"}},
			"b":{"url":"http://127.0.0.1:1/","authType":"oauth","oauth":{"clientId":"c","clientSecret":"the client secret"}}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Projects.Apply(t.Context(), d, projects.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		var server models.Server
		if err := s.DB.First(&server, "alias = 'b'").Error; err != nil {
			t.Fatal(err)
		}
		seal := func(text, row string) string {
			sealed, err := s.Config.Keys.Seal(secrets.NewValue(text), row)
			if err != nil {
				t.Fatal(err)
			}
			return sealed
		}
		at := time.Now().UTC().Truncate(time.Millisecond)
		ada := accounts.ID{ServerID: server.ID, UserID: "u"}
		for _, row := range []any{
			&models.Connection{
				ServerID: server.ID, State: "connected", CreatedAt: at, UpdatedAt: at,
				AccessToken: seal("the access token", accounts.ID{ServerID: server.ID}.AccessTokenRow()), RefreshToken: seal("the refresh token", accounts.ID{ServerID: server.ID}.RefreshTokenRow()),
			},
			&models.User{ID: "u", Email: "ada@example.com", EmailFold: "ada@example.com", Role: models.RoleAdmin, CreatedAt: at},
			&models.PersonalConnection{
				Connection: models.Connection{
					ServerID: server.ID, State: "connected", CreatedAt: at, UpdatedAt: at,
					AccessToken: seal("ada's access token", ada.AccessTokenRow()), RefreshToken: seal("ada's refresh token", ada.RefreshTokenRow()),
				},
				UserID: "u", Kind: models.KindOAuth, Headers: models.StringMap{"X-A": seal("ada's header", ada.HeaderRow("X-A")), "X-B": seal("ada's other", ada.HeaderRow("X-B"))},
			},
			&models.AuthenticatorApp{ID: "f", UserID: "u", Name: "Phone", CreatedAt: at, Secret: seal("the app's secret", factors.AppRow("f"))},
			&models.Destination{
				ID: "d", Name: "d", Kind: models.DestinationWebhook, Address: seal("the address", destinations.AddressRow("d")),
				Secret: seal("the signing secret", destinations.SecretRow("d")), FormerSecret: seal("the former one", destinations.FormerSecretRow("d")),
			},
			&models.ConnectionRegistration{ID: "r", Issuer: "https://issuer.example", CreatedAt: at, ClientSecret: seal("the secret", oauthclient.RegistrationSecretRow("r"))},
		} {
			if err := s.DB.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}

		owner, err := artifacts.OwnerOf(access.Administrator("u", server.ProjectID))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Artifacts.Put(t.Context(), owner, "report", models.ArtifactText, []byte("the report")); err != nil {
			t.Fatal(err)
		}

		both := withKeys(t, dsn, newKey+","+oldKey)
		if n, err := both.Rekey(t.Context()); n != 16 || err != nil {
			t.Fatalf("resealed %d, %v", n, err)
		}
		if n, err := both.Rekey(t.Context()); n != 0 || err != nil {
			t.Errorf("second Rekey() resealed %d, %v", n, err)
		}

		after := withKeys(t, dsn, newKey)
		var servers []models.Server
		var connection models.Connection
		var registration models.ConnectionRegistration
		var app models.AuthenticatorApp
		var personal models.PersonalConnection
		var destination models.Destination
		for _, err := range []error{after.DB.Order("alias").Find(&servers).Error, after.DB.First(&connection).Error, after.DB.First(&registration).Error, after.DB.First(&app).Error, after.DB.First(&personal).Error, after.DB.First(&destination).Error} {
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := servers[0], servers[1]
		for _, secret := range []struct{ sealed, row, want string }{
			{a.AuthBearer, projects.BearerRow(a.ID), "the bearer"},
			{a.Headers["X-A"], projects.HeaderRow(a.ID, "X-A"), "the header"},
			{a.URLSecrets[0], projects.QueryRow(a.ID, "key"), "the+query+value"},
			{b.OAuthClientSecret, projects.ClientSecretRow(b.ID), "the client secret"},
			{connection.AccessToken, accounts.ID{ServerID: b.ID}.AccessTokenRow(), "the access token"},
			{connection.RefreshToken, accounts.ID{ServerID: b.ID}.RefreshTokenRow(), "the refresh token"},
			{registration.ClientSecret, oauthclient.RegistrationSecretRow("r"), "the secret"},
			{destination.Address, destinations.AddressRow("d"), "the address"},
			{destination.Secret, destinations.SecretRow("d"), "the signing secret"},
			{destination.FormerSecret, destinations.FormerSecretRow("d"), "the former one"},
			{app.Secret, factors.AppRow("f"), "the app's secret"},
			{personal.AccessToken, ada.AccessTokenRow(), "ada's access token"},
			{personal.RefreshToken, ada.RefreshTokenRow(), "ada's refresh token"},
			{personal.Headers["X-A"], ada.HeaderRow("X-A"), "ada's header"},
			{personal.Headers["X-B"], ada.HeaderRow("X-B"), "ada's other"},
		} {
			if v, err := after.Config.Keys.Open(secret.sealed, secret.row); err != nil || v.Reveal() != secret.want || !strings.HasPrefix(secret.sealed, "v1:new:") {
				t.Errorf("%s: %v", secret.row, err)
			}
			if _, err := after.Config.Keys.Open(secret.sealed, secret.row+"x"); err == nil {
				t.Errorf("%s opens for another row", secret.row)
			}
		}
		if a.Headers["X-B"] != "${A_TOKEN}" {
			t.Errorf("the reference became %q", a.Headers["X-B"])
		}
		if stored, err := after.Artifacts.Get(t.Context(), owner, "report"); err != nil || string(stored.Data) != "the report" {
			t.Errorf("Artifacts.Get() = %v, %v", stored, err)
		}
		if v, err := after.Audit.Verify(t.Context()); err != nil || v.Count == 0 {
			t.Errorf("audit log: %+v, %v", v, err)
		}
		without := withKeys(t, dsn, oldKey)
		if _, err := without.Rekey(t.Context()); err == nil {
			t.Error("Rekey() resealed secrets without their key")
		}
	})
}
