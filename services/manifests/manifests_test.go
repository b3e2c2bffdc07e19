package manifests_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/services/manifests"
)

func printed(t *testing.T, kind string, environ ...string) string {
	t.Helper()
	raw, err := manifests.Print(kind, environ, "1.2.3")
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return string(raw)
}

func TestSecretsAreReferences(t *testing.T) {
	environ := []string{
		"GATEWAY_DATABASE_URL=postgres://g:c4nary@db/g", "GATEWAY_SECRETS_KEYS=k1:c4nary", "GATEWAY_ADMIN_TOKEN=c4nary", "GATEWAY_METRICS_TOKEN=c4nary-c4nary-c4nary",
		"GATEWAY_OIDC_CLIENT_SECRET=c4nary", "GATEWAY_EMBEDDINGS_URL=https://u:c4nary@e.example", "GATEWAY_EMBEDDINGS_KEY=c4nary", "GATEWAY_SMTP_URL=smtp://u:c4nary@m.example",
		"GITHUB_TOKEN=c4nary", "GATEWAY_MAX_STREAMS=77",
	}
	for _, kind := range manifests.Kinds {
		if out := printed(t, kind, environ...); strings.Contains(out, "c4nary") {
			t.Errorf("%s has a secret:\n%s", kind, out)
		}
	}
	for kind, want := range map[string][]string{
		"kubernetes": {"secretKeyRef: {name: gateway, key: admin-token}", "key: database-url", "key: secrets-keys", "key: smtp-url", `{name: GATEWAY_MAX_STREAMS, value: "77"}`},
		"compose":    {`GATEWAY_ADMIN_TOKEN: "${GATEWAY_ADMIN_TOKEN:?set it in .env}"`, `GATEWAY_MAX_STREAMS: "77"`},
		"systemd":    {"#   GATEWAY_ADMIN_TOKEN=…", "#   GATEWAY_DATABASE_URL=…", `Environment="GATEWAY_MAX_STREAMS=77"`},
	} {
		for _, part := range want {
			if out := printed(t, kind, environ...); !strings.Contains(out, part) {
				t.Errorf("%s has no %s:\n%s", kind, part, out)
			}
		}
	}
}

// TestTimesToStop checks the drain delay and the time until the end of a process.
func TestTimesToStop(t *testing.T) {
	for _, tt := range []struct{ kind, setting, want string }{
		{"kubernetes", "", "terminationGracePeriodSeconds: 45"},
		{"kubernetes", "14s", "terminationGracePeriodSeconds: 45"},
		{"kubernetes", "15s", "terminationGracePeriodSeconds: 45"},
		{"kubernetes", "16s", "terminationGracePeriodSeconds: 46"},
		{"kubernetes", "16s", `{name: GATEWAY_DRAIN_DELAY, value: "16s"}`},
		{"compose", "", "stop_grace_period: 30s"},
		{"compose", "10s", "stop_grace_period: 40s"},
		{"systemd", "10s", "TimeoutStopSec=40"},
	} {
		if out := printed(t, tt.kind, "GATEWAY_DRAIN_DELAY="+tt.setting); !strings.Contains(out, tt.want) {
			t.Errorf("%s with %q has no %s:\n%s", tt.kind, tt.setting, tt.want, out)
		}
	}
}

func TestSettingsAreInForce(t *testing.T) {
	environ := []string{"GATEWAY_PUBLIC_URL=https://mcp.example.org:8443", "GATEWAY_ADDR=0.0.0.0:9000"}
	for kind, want := range map[string]string{
		"nginx": "listen 8443 ssl;\n    http2 on;\n    server_name mcp.example.org;", "caddy": "https://mcp.example.org:8443 {\n\treverse_proxy 127.0.0.1:9000\n}", "systemd": `"GATEWAY_PUBLIC_URL=https://mcp.example.org:8443"`,
		"kubernetes": `image: "registry.example.com/gateway:1.2.3"`,
	} {
		if out := printed(t, kind, environ...); !strings.Contains(out, want) {
			t.Errorf("%s has no %s:\n%s", kind, want, out)
		}
	}
	if !strings.Contains(printed(t, "nginx"), "proxy_set_header Upgrade $http_upgrade;") {
		t.Error("nginx doesn't forward the upgrade of runners")
	}
	if plain := printed(t, "nginx", "GATEWAY_PUBLIC_URL=http://mcp.example.org"); !strings.Contains(plain, "listen 80;\n    server_name mcp.example.org;\n\n") || strings.Contains(plain, "ssl") {
		t.Errorf("nginx with an http URL:\n%s", plain)
	}
	if !strings.Contains(printed(t, "nginx"), "server_name gateway.example.com;") {
		t.Error("no placeholder without a public URL")
	}
	var dashboard struct{ Panels []any }
	if err := json.Unmarshal([]byte(printed(t, "grafana")), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Errorf("dashboard: %v", err)
	}
}

func TestValuesAreQuoted(t *testing.T) {
	odd := "a: b # \"c\" ${d} $(e) $$(f) $$ %f"
	for kind, want := range map[string]string{
		"kubernetes": `value: "a: b # \"c\" $${d} $$(e) $$$$(f) $$$$ %f"`, "compose": `"a: b # \"c\" $${d} $$(e) $$$$(f) $$$$ %f"`,
		"systemd": `Environment="GATEWAY_ALLOWED_HOSTS=a: b # \"c\" ${d} $(e) $$(f) $$ %%f"`,
	} {
		if out := printed(t, kind, "GATEWAY_ALLOWED_HOSTS="+odd); !strings.Contains(out, want) {
			t.Errorf("%s has no %s:\n%s", kind, want, out)
		}
	}
}

func TestInvalidSettingsAreNamed(t *testing.T) {
	for setting, want := range map[string]string{
		"GATEWAY_PUBLIC_URL=https://a.example/path": "GATEWAY_PUBLIC_URL: ", "GATEWAY_PUBLIC_URL=ftp://a.example": "GATEWAY_PUBLIC_URL: ",
		"GATEWAY_PUBLIC_URL=https://a.example;x": "GATEWAY_PUBLIC_URL: ", "GATEWAY_ADDR=8080": "GATEWAY_ADDR: ", "GATEWAY_DRAIN_DELAY=soon": "GATEWAY_DRAIN_DELAY: ", "GATEWAY_DRAIN_DELAY=6m": "GATEWAY_DRAIN_DELAY: ",
		"GATEWAY_MAX_STREAMS=0": "GATEWAY_MAX_STREAMS: ", "GATEWAY_RESULT_MEMORY_MIB=1": "GATEWAY_RESULT_MEMORY_MIB: ", "GATEWAY_AUDIT_YEARS=101": "GATEWAY_AUDIT_YEARS: ",
		"GATEWAY_REQUIRE_SECOND_FACTOR=some": "GATEWAY_REQUIRE_SECOND_FACTOR: ", "GATEWAY_CATALOG_PROBE=hourly": "GATEWAY_CATALOG_PROBE: ",
	} {
		if _, err := manifests.Print("nginx", []string{setting}, "1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if _, err := manifests.Print("helm", nil, "1"); err == nil || !strings.Contains(err.Error(), "unknown kind") {
		t.Errorf("unknown kind: %v", err)
	}
}
