package projects_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

const canary = "c4nary-s3cret-value"

// withSecrets declares a server with each kind of secret. The value "-" omits
// the keys.
func withSecrets(value string) string {
	if value == "-" {
		return inServer(`"authType":"bearer"`)
	}
	v := quote(value)
	return inServer(`"authType":"bearer","authBearer":` + v + `,"headers":{"X-Key":` + v + `},"oauth":{"clientSecret":` + v + `}`)
}

func secretsOf(row models.Server) []string {
	return []string{row.AuthBearer, row.Headers["X-Key"], row.OAuthClientSecret}
}

// isSealed reports whether a stored value looks like a sealed secret.
func isSealed(stored string) bool { return strings.HasPrefix(stored, "v1:") }

func TestSecretsAreSealedToTheirRow(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, withSecrets(canary))
		row := s.server(t, "p", "s")
		rows := []string{projects.BearerRow(row.ID), projects.HeaderRow(row.ID, "X-Key"), projects.ClientSecretRow(row.ID)}
		for i, sealed := range secretsOf(row) {
			if !isSealed(sealed) || strings.Contains(sealed, canary) {
				t.Fatalf("stored %q", sealed)
			}
			for j, name := range rows {
				v, err := s.ring.Open(sealed, name)
				if (i == j) != (err == nil) || err == nil && v.Reveal() != canary {
					t.Errorf("secret %d opens for %s: %v", i, name, err)
				}
			}
		}
	})
}

func TestSecretsAreNeverShown(t *testing.T) {
	s := sqliteStore(t)
	plan := s.apply(t, withSecrets(canary))
	again := s.apply(t, withSecrets(canary+"2"))
	_, err := s.tryApply(t, inServer(`"authBearer":"`+canary+` ${HOME}","headers":{"X-Key":"`+canary+`\u0001"}`))
	if err == nil {
		t.Fatal("a reference inside a text was accepted")
	}
	_, parseErr := declaration.Parse([]byte(inServer(`"authBearer":["` + canary + `"],"headers":{"X-Key":{"a":"` + canary + `"}}`)))
	if parseErr == nil {
		t.Fatal("a list was accepted as a secret")
	}
	for name, text := range map[string]string{
		"plan": fmt.Sprintf("%+v", plan), "second plan": fmt.Sprintf("%+v", again), "export": s.export(t, ""), "one project's export": s.export(t, "p"),
		"fault": fmt.Sprintf("%v %v", err, fieldsOf(err)), "parse fault": fmt.Sprintf("%v %v", parseErr, fieldsOf(parseErr)), "database": s.everything(t),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("%s contains a secret: %s", name, text)
		}
	}
}

func TestAbsentSecretsStayEmptyOnesClear(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, withSecrets(canary))
		before := s.server(t, "p", "s")
		wantPlan(t, s.apply(t, withSecrets("-")), "keep p", "keep p/s")
		wantPlan(t, s.apply(t, withSecrets(canary)), "keep p", "keep p/s")
		after := s.server(t, "p", "s")
		if fmt.Sprint(secretsOf(before)) != fmt.Sprint(secretsOf(after)) || after.ConfigVersion != 1 {
			t.Error("unchanged secrets were sealed again")
		}
		const fields = " authBearer headers.X-Key oauth.clientSecret"
		wantPlan(t, s.apply(t, withSecrets("another")), "keep p", "update p/s"+fields)
		wantPlan(t, s.apply(t, withSecrets("${MCP_UPSTREAM_X}")), "keep p", "update p/s"+fields)
		wantPlan(t, s.apply(t, withSecrets("${MCP_UPSTREAM_X}")), "keep p", "keep p/s")
		wantPlan(t, s.apply(t, withSecrets("Bearer ${MCP_UPSTREAM_X}")), "keep p", "update p/s"+fields)
		wantPlan(t, s.apply(t, withSecrets("")), "keep p", "update p/s"+fields)
		wantPlan(t, s.apply(t, withSecrets("")), "keep p", "keep p/s")
		row := s.server(t, "p", "s")
		if row.AuthBearer != "" || len(row.Headers) != 0 || row.OAuthClientSecret != "" || row.AuthType != models.UpstreamAuthBearer {
			t.Errorf("cleared = %+v", row)
		}
	})
}

func TestUndecryptableSecretIsReplaced(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, withSecrets(canary))
	if err := s.db.Model(&models.Server{}).Where("alias = ?", "s").Update("auth_bearer", "v1:gone:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").Error; err != nil {
		t.Fatal(err)
	}
	wantPlan(t, s.apply(t, withSecrets(canary)), "keep p", "update p/s authBearer")
	row := s.server(t, "p", "s")
	if v, err := s.ring.Open(row.AuthBearer, projects.BearerRow(row.ID)); err != nil || v.Reveal() != canary {
		t.Errorf("the stored secret resolves to %v", err)
	}
}

func TestSealedLookingTextIsSealed(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, withSecrets(canary))
	stolen := s.server(t, "p", "s").AuthBearer
	s.apply(t, `{"projects":{"thief":{"mcpServers":{"t":{"url":"https://thief.example","authBearer":`+quote(stolen)+`}}}}}`)
	row := s.server(t, "thief", "t")
	if v, err := s.ring.Open(row.AuthBearer, projects.BearerRow(row.ID)); err != nil || v.Reveal() != stolen {
		t.Errorf("a sealed-looking text was stored unchanged: %v", err)
	}
}

func TestEnvRefs(t *testing.T) {
	s := sqliteStore(t)
	for value, text := range map[string]string{
		"${MCP_UPSTREAM_A}": "", "${GITHUB_TOKEN}": "", "Bearer ${GITHUB_TOKEN}": "",
		"${HOME}": "GATEWAY_ENV_ALLOW", "${DATABASE_URL}": "GATEWAY_ENV_ALLOW", "Bearer ${HOME}": "GATEWAY_ENV_ALLOW",
		"${GATEWAY_ADMIN_TOKEN}": "is reserved for the gateway", "${gateway_admin_token}": "is reserved for the gateway", "${GATEWAY_SECRETS_KEYS}": "is reserved for the gateway",
		"x${GITHUB_TOKEN}": "whole value", "${GITHUB_TOKEN}x": "whole value", "${GITHUB TOKEN}": "whole value", "${}": "whole value",
	} {
		t.Run(value, func(t *testing.T) {
			_, err := s.tryApply(t, withSecrets(value))
			if text == "" {
				if err != nil {
					t.Fatalf("refused: %v", fieldsOf(err))
				}
				for _, stored := range secretsOf(s.server(t, "p", "s")) {
					if stored != value {
						t.Errorf("stored %q", stored)
					}
				}
				return
			}
			const path = "projects.p.mcpServers.s."
			wantProblem(t, err, text, path+"authBearer", path+"headers.X-Key", path+"oauth.clientSecret")
		})
	}
}

func TestBearerSetsAuthTypeOfNewServerOnly(t *testing.T) {
	s := sqliteStore(t)
	for _, tc := range []struct {
		server string
		want   models.AuthType
	}{
		{`"authBearer":"x"`, models.UpstreamAuthBearer},
		{`"authBearer":""`, models.UpstreamAuthNone},
		{`"authBearer":"x","authType":"none"`, models.UpstreamAuthNone},
		{`"authType":"bearer"`, models.UpstreamAuthBearer},
		{`"headers":{"X-A":"x"}`, models.UpstreamAuthNone},
	} {
		s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})
		s.apply(t, inServer(tc.server))
		if got := s.server(t, "p", "s").AuthType; got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.server, got, tc.want)
		}
	}
	s.apply(t, inServer(`"authType":"none","authBearer":"y"`))
	s.apply(t, inServer(`"authBearer":"z"`))
	if got := s.server(t, "p", "s").AuthType; got != models.UpstreamAuthNone {
		t.Errorf("an update changed authType to %s", got)
	}
}
