package projects_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
)

// person stores a user.
func (s *store) person(t *testing.T, id string) {
	t.Helper()
	if err := s.db.Create(&models.User{ID: id, Email: id + "@example.com", EmailFold: id + "@example.com", Name: strings.ToUpper(id), Role: models.RoleMember, CreatedAt: s.now}).Error; err != nil {
		t.Fatal(err)
	}
}

// connect stores a user's connection to a server, or the shared one.
func (s *store) connect(t *testing.T, serverID, userID string, inventory bool) {
	t.Helper()
	row := models.PersonalConnection{
		Connection: models.Connection{ServerID: serverID, State: "connected", AccessToken: "sealed", ConnectedAt: &s.now, Version: 1, CreatedAt: s.now, UpdatedAt: s.now},
		UserID:     userID, Kind: models.KindOAuth, InventoryOK: inventory,
	}
	var err error
	if userID == "" {
		err = s.db.Create(&row.Connection).Error
	} else {
		err = s.db.Create(&row).Error
	}
	flow := models.ConnectionFlow{StateHash: []byte(serverID + userID), ServerID: serverID, UserID: userID, CreatedAt: s.now, ExpiresAt: s.now.Add(time.Minute)}
	if err == nil {
		err = s.db.Create(&flow).Error
	}
	if err != nil {
		t.Fatal(err)
	}
}

// connected returns the users with a connection to a server, "" for the shared
// one, and those of started flows after "flow:".
func (s *store) connected(t *testing.T, serverID string) []string {
	t.Helper()
	users, flows, shared := []string{}, []string{}, int64(0)
	if err := s.db.Model(&models.PersonalConnection{}).Where("server_id = ?", serverID).Pluck("user_id", &users).Error; err != nil {
		t.Fatal(err)
	}
	if err := s.db.Model(&models.ConnectionFlow{}).Where("server_id = ?", serverID).Pluck("user_id", &flows).Error; err != nil {
		t.Fatal(err)
	}
	if err := s.db.Model(&models.Connection{}).Where("server_id = ?", serverID).Count(&shared).Error; err != nil {
		t.Fatal(err)
	}
	if shared > 0 {
		users = append(users, "")
	}
	for _, flow := range flows {
		users = append(users, "flow:"+flow)
	}
	slices.Sort(users)
	return users
}

func TestPersonalSettings(t *testing.T) {
	s := sqliteStore(t)
	nine := `["A1","A2","A3","A4","A5","A6","A7","A8","A9"]`
	for _, tt := range []struct {
		keys, text string
		problems   []string // none means accepted
	}{
		{keys: `"connection":"personal","authType":"oauth"`},
		{keys: `"connection":"personal","authType":"bearer"`},
		{keys: `"connection":"personal","personalHeaders":["X-Api-Key"]`},
		{keys: `"connection":"personal","personalHeaders":["authorization"]`},
		{keys: `"connection":"personal","authType":"bearer","personalHeaders":` + strings.Replace(nine, `,"A9"`, "", 1) + `,"headers":{"X-Team":"t"}`},
		{keys: `"connection":"shared","authType":"bearer","authBearer":"x"`},
		{keys: `"connection":"personal","authType":"bearer","personalHeaders":` + nine, text: "at most 8", problems: []string{"personalHeaders"}},
		{keys: `"connection":"personal"`, text: "requires authType oauth or bearer, or personalHeaders", problems: []string{"connection"}},
		{keys: `"connection":"mine"`, text: "use one of shared, personal", problems: []string{"connection"}},
		{keys: `"connection":"personal","authType":"bearer","authBearer":"x"`, text: "enters their own", problems: []string{"authBearer"}},
		{keys: `"personalHeaders":["X-Api-Key"]`, text: "only servers with connection personal", problems: []string{"personalHeaders"}},
		{keys: `"connection":"personal","personalHeaders":["X Y"]`, text: "not a valid header", problems: []string{"personalHeaders[0]"}},
		{keys: `"connection":"personal","personalHeaders":["Mcp-Session-Id"]`, text: "set by the gateway", problems: []string{"personalHeaders[0]"}},
		{keys: `"connection":"personal","personalHeaders":["Cookie"]`, text: "cookies", problems: []string{"personalHeaders[0]"}},
		{keys: `"connection":"personal","personalHeaders":["X-A","x-a"]`, text: "listed twice", problems: []string{"personalHeaders[1]"}},
		{keys: `"connection":"personal","personalHeaders":["X-A"],"headers":{"x-a":"v"}`, text: "also in headers", problems: []string{"personalHeaders[0]"}},
		{keys: `"connection":"personal","authType":"oauth","personalHeaders":["Authorization"]`, text: "authType oauth", problems: []string{"personalHeaders[0]"}},
		{keys: `"connection":"personal","authType":"oauth","personalHeader":["X"]`, text: "did you mean personalHeaders", problems: []string{"personalHeader"}},
		{keys: `"inventoryPerson":"nobody@example.com","connection":"personal","authType":"oauth"`, text: "no user", problems: []string{"inventoryPerson"}},
		{keys: `"inventoryPerson":"nobody@example.com"`, text: "only servers with connection personal", problems: []string{"inventoryPerson"}},
	} {
		d, err := declaration.Parse([]byte(inServer(tt.keys)))
		if err == nil {
			_, err = s.Apply(t.Context(), d, projects.ApplyOptions{DryRun: true})
		}
		if tt.problems == nil {
			if err != nil {
				t.Errorf("%s: %v %v", tt.keys, err, fieldsOf(err))
			}
			continue
		}
		for i := range tt.problems {
			tt.problems[i] = "projects.p.mcpServers.s." + tt.problems[i]
		}
		wantProblem(t, err, tt.text, tt.problems...)
	}
}

func TestPersonalNeedsPeople(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"gh":{"url":"https://a.example","authType":"oauth","connection":"personal"}}}`)
		_, err := s.UpdateProject(t.Context(), "p", project(t, `{"authMode":"none"}`))
		wantProblem(t, err, "gh", "authMode")
		_, err = s.tryApply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"gh":{"timeout":1000}}}}}`)
		wantProblem(t, err, "authMode none", "projects.p.mcpServers.gh.connection")
		s.create(t, "open", `{"authMode":"none","mcpServers":{"gh":{"url":"https://a.example","authType":"oauth"}}}`)
		_, err = s.UpdateServer(t.Context(), s.server(t, "open", "gh").ID, nil, server(t, `{"connection":"personal"}`))
		wantProblem(t, err, "authMode none", "connection")
		_, err = s.AddServer(t.Context(), "open", "other", server(t, `{"url":"https://b.example","authType":"bearer","connection":"personal"}`))
		wantProblem(t, err, "authMode none", "connection")
		if p, err := s.Project(t.Context(), "p"); err != nil || p.AuthMode != models.AuthAPIKey {
			t.Errorf("project = %+v, %v", p, err)
		}
	})
}

func TestSwitchingAccountsDeletesConnections(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"gh":{"url":"https://a.example","authType":"oauth"}}}`)
		id := s.server(t, "p", "gh").ID
		s.person(t, "ann")
		s.person(t, "ben")
		change := func(body string) error {
			_, err := s.UpdateServer(t.Context(), id, nil, server(t, body))
			return err
		}
		if err := change(`{"connection":"personal"}`); err != nil {
			t.Fatal(err)
		}
		s.connect(t, id, "ann", true)
		s.connect(t, id, "ben", false)
		for _, body := range []string{`{"connection":"shared"}`, `{"connection":"shared","confirm":"GH"}`} {
			f := wantFault(t, change(body), fault.CodeConflict)
			if f.Fields["connections"] != "This removes the connections of 2 people." {
				t.Errorf("%s: fields %v", body, f.Fields)
			}
		}
		if got := s.connected(t, id); len(got) != 4 {
			t.Errorf("after a refused change: %q", got)
		}
		s.feed.take()
		s.audited(t)
		if err := change(`{"connection":"shared","confirm":"gh"}`); err != nil {
			t.Fatal(err)
		}
		s.wantAudit(t, "connection.removed gh", "connection.removed gh", "server.updated gh fields=connection")
		if got := s.connected(t, id); len(got) != 0 {
			t.Errorf("connections left: %q", got)
		}
		for _, topic := range []notify.Topic{notify.PersonalConnection(id, "ann"), notify.PersonalConnection(id, "ben")} {
			if !slices.Contains(s.feed.topics, topic) {
				t.Errorf("no topic %s in %v", topic, s.feed.topics)
			}
		}
		s.connect(t, id, "", false)
		if f := wantFault(t, change(`{"connection":"personal"}`), fault.CodeConflict); f.Fields["connections"] == "" {
			t.Errorf("fields = %v", f.Fields)
		}
		if err := change(`{"connection":"personal","confirm":"gh"}`); err != nil || len(s.connected(t, id)) != 0 {
			t.Errorf("personal: %v, left %q", err, s.connected(t, id))
		}
	})
}

func TestMovedServerLosesPersonalConnections(t *testing.T) {
	s := sqliteStore(t)
	s.create(t, "p", `{"mcpServers":{"gh":{"url":"https://a.example","authType":"oauth","connection":"personal"}}}`)
	id := s.server(t, "p", "gh").ID
	s.person(t, "ann")
	s.connect(t, id, "ann", true)
	ctx := reach.With(t.Context(), reach.OfPerson("ben", models.RoleMember, maintains{}))
	if _, err := s.UpdateServer(ctx, id, nil, server(t, `{"url":"https://a.example/other"}`)); err != nil || len(s.connected(t, id)) != 2 {
		t.Fatalf("same origin: %v, %q", err, s.connected(t, id))
	}
	if _, err := s.UpdateServer(ctx, id, nil, server(t, `{"url":"https://b.example"}`)); err != nil {
		t.Fatal(err)
	}
	if got := s.connected(t, id); len(got) != 0 {
		t.Errorf("connections left: %q", got)
	}
}

func TestInventoryUser(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"gh":{"url":"https://a.example","authType":"oauth","connection":"personal"},"one":{"url":"https://b.example"}}}`)
		id := s.server(t, "p", "gh").ID
		s.person(t, "ann")
		s.person(t, "ben")
		s.connect(t, id, "ann", true)
		s.connect(t, id, "ben", false)
		s.audited(t)
		set := func(ctx context.Context, server, user string) error { return s.SetInventoryUser(ctx, server, user) }
		wantFault(t, set(t.Context(), id, "cat"), fault.CodeNotFound)
		wantFault(t, set(t.Context(), "none", "ann"), fault.CodeNotFound)
		wantFault(t, set(t.Context(), s.server(t, "p", "one").ID, "ann"), fault.CodeConflict)
		wantProblem(t, set(t.Context(), id, "ben"), "doesn't allow", "personId")
		s.wantAudit(t)
		s.feed.take()
		for range 2 { // the second changes nothing
			if err := set(t.Context(), id, "ann"); err != nil || s.server(t, "p", "gh").InventoryUserID != "ann" {
				t.Fatalf("chosen: %v, %q", err, s.server(t, "p", "gh").InventoryUserID)
			}
		}
		s.wantAudit(t, "connection.inventory_changed gh")
		if topics := s.feed.take(); !slices.Contains(topics, notify.Connection(id)) {
			t.Errorf("topics = %v", topics)
		}
		if err := set(t.Context(), id, ""); err != nil || s.server(t, "p", "gh").InventoryUserID != "" {
			t.Errorf("removed: %v", err)
		}
	})
}

func TestExportOfPersonalServers(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.person(t, "ann")
		s.apply(t, `{"projects":{"p":{"mcpServers":{
			"gh":{"url":"https://a.example","authType":"bearer","connection":"personal","personalHeaders":["x-api-key"],"inventoryPerson":"Ann@example.com"},
			"one":{"url":"https://b.example"}}}}}`)
		if got := s.server(t, "p", "gh"); got.InventoryUserID != "ann" || got.PersonalHeaders[0] != "X-Api-Key" {
			t.Fatalf("applied = %+v", got)
		}
		if file := s.export(t, ""); strings.Contains(file, "inventoryPerson") || strings.Count(file, `"connection"`) != 1 || strings.Contains(file, "authBearer") {
			t.Errorf("export without people:\n%s", file)
		}
		raw, err := s.ExportWith(t.Context(), projects.ExportOptions{People: true})
		if err != nil || !strings.Contains(string(raw), `"inventoryPerson": "ann@example.com"`) {
			t.Fatalf("export with people: %v\n%s", err, raw)
		}
		before := s.everything(t)
		plan := s.apply(t, string(raw), projects.ApplyOptions{Prune: true})
		for _, c := range plan.Changes {
			if c.Action != projects.ActionKeep {
				t.Errorf("change %+v", c)
			}
		}
		if len(plan.Missing) != 0 || s.everything(t) != before {
			t.Errorf("applying the export changed something, or misses %v", plan.Missing)
		}
		again, err := s.ExportWith(t.Context(), projects.ExportOptions{People: true})
		if err != nil || string(again) != string(raw) {
			t.Errorf("second export differs: %v\n%s", err, again)
		}
	})
}

// maintains are the rights of someone who maintains every project.
type maintains struct{}

func (maintains) Held(*models.Project, string) rights.Held {
	return rights.Held{Everything: true, Maintains: true}
}

func (maintains) MaintainsAny(string) bool { return true }
