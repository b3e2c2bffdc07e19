package services_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestDisconnectEndsSessionsEverywhere checks that two replicas close the
// upstream sessions of a person who disconnects at one of them within a second,
// and no sessions of another person.
func TestDisconnectEndsSessionsEverywhere(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
		storePersonalServer(t, dsn, up.Start(t))
		replicas := []*services.Services{start(t, dsn), start(t, dsn)}
		people := []string{"ann", "ben"}
		connect := func(user string) {
			t.Helper()
			if err := replicas[0].Connections.StoreToken(t.Context(), "s", user, oauthclient.PersonalToken{Bearer: secrets.NewValue("token-of-" + user)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, user := range people {
			connect(user)
		}
		for _, s := range replicas {
			for _, user := range people {
				if err := callEcho(t, s, user); err != nil {
					t.Fatalf("%s: %v", user, err)
				}
			}
		}
		if n := up.Stats().Sessions; n != 4 {
			t.Fatalf("%d sessions, want one for each person and replica", n)
		}
		wantSessions := func(what string, n int) {
			t.Helper()
			for end := time.Now().Add(5 * time.Second); up.Stats().Sessions != n; <-time.After(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: %d sessions after 5 s, want %d", what, up.Stats().Sessions, n)
				}
			}
		}
		if _, err := replicas[0].Connections.Disconnect(t.Context(), "s", "ann"); err != nil {
			t.Fatal(err)
		}
		wantSessions("disconnected", 2)
		for _, s := range replicas {
			if err := callEcho(t, s, "ann"); !fault.Is(err, fault.CodeConnectionRequired) {
				t.Errorf("call without an account: %v", err)
			}
		}
		connect("ann")
		for end := time.Now().Add(5 * time.Second); up.Stats().Sessions != 4; <-time.After(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("connected again: %d sessions after 5 s, want 4", up.Stats().Sessions)
			}
			for _, s := range replicas { // a session that is older than the change is closed by it
				_ = callEcho(t, s, "ann")
			}
		}
		connect("ann") // another token
		wantSessions("another token", 2)
		seen := map[string]bool{}
		for _, r := range up.Requests() {
			seen[r.Header.Get("Authorization")] = true
		}
		delete(seen, "") // the end of a session whose token is gone
		if len(seen) != 2 || !seen["Bearer token-of-ann"] || !seen["Bearer token-of-ben"] {
			t.Errorf("the upstream received %v", seen)
		}
	})
}

// storePersonalServer stores the project p with the personal server s, and the
// administrators ann and ben.
func storePersonalServer(t *testing.T, dsn, url string) {
	t.Helper()
	db, at := modelstest.Open(t, dsn), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rows := []any{
		&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthAPIKey, ToolExposure: models.ExposeFull},
		&models.Server{
			ID: "s", ProjectID: "p", Alias: "up", AliasFold: "up", URL: url, Transport: models.TransportAuto, AuthType: models.UpstreamAuthBearer, Connection: models.ConnectionPersonal,
			Enabled: true, TimeoutMS: 5000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
		},
		&models.Inventory{ServerID: "s", SyncedAt: &at, AttemptedAt: at},
		&models.Tool{ServerID: "s", Name: "echo", Definition: `{"name":"echo","inputSchema":{"type":"object"}}`, DefinitionHash: "h", FirstSeenAt: at, ChangedAt: at},
	}
	for _, user := range []string{"ann", "ben"} {
		rows = append(rows, &models.User{ID: user, Email: user + "@example.com", EmailFold: user + "@example.com", Role: models.RoleAdmin, CreatedAt: at})
	}
	for _, row := range rows {
		if err := db.Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// callEcho calls the tool of the personal server as a user.
func callEcho(t *testing.T, s *services.Services, user string) error {
	t.Helper()
	project, err := s.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	client := &gateway.Client{Principal: access.Administrator(user, "p"), Version: gateway.VersionLatestHandshake, SessionID: fmt.Sprintf("%p-%s", s, user)}
	result, err := s.Gateway.Handle(t.Context(), project, client, "tools/call", []byte(`{"name":"up__echo","arguments":{"text":"hi"}}`), nil)
	if err == nil && strings.Contains(string(result), `"isError":true`) {
		return fault.Upstream(fault.CodeConnectionRequired, "%s", result)
	}
	return err
}
