package config_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/config"
	"mcpgateway/services/egress"
)

const (
	goodKey  = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	withKeys = "GATEWAY_SECRETS_KEYS=" + goodKey
)

func mustLoad(t *testing.T, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(append([]string{withKeys}, environ...), "")
	if err != nil {
		t.Fatalf("%q: %v", environ, err)
	}
	return c
}

// wantMistakes fails the test unless Load reports exactly the problems with
// these prefixes, one per line.
func wantMistakes(t *testing.T, environ []string, want ...string) {
	t.Helper()
	c, err := config.Load(environ, "")
	if err == nil || c != nil {
		t.Fatalf("%q: loaded as %+v, %v", environ, c, err)
	}
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	slices.Sort(want)
	if len(lines) != len(want) {
		t.Fatalf("%q: got\n%s\nwant %q", environ, err, want)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("%q: got %q, want %q", environ, line, want[i])
		}
	}
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t)
	if c.Addr != "127.0.0.1:8080" || !c.LoopbackListener || c.PublicURL.String() != "http://127.0.0.1:8080" || c.DatabaseURL != "sqlite:data/gateway.db" ||
		c.MaxStaleness != 5*time.Minute || c.LogLevel != slog.LevelInfo || c.LogJSON != nil || !c.AdminToken.IsZero() ||
		c.AllowedHosts != nil || c.AllowedOrigins != nil || c.TrustedProxies != nil || c.Keys == nil {
		t.Errorf("loaded %+v", c)
	}
	if d := cmp.Diff(fmt.Sprint(egress.DefaultAllow(true)), fmt.Sprint(c.EgressAllow)); d != "" {
		t.Errorf("egress (-want +got):\n%s", d)
	}
	for name, ok := range map[string]bool{"MCP_UPSTREAM_X": true, "GITHUB_TOKEN": true, "X_API_KEY": true, "HOME": false, "GATEWAY_ADMIN_TOKEN": false} {
		if got := c.Environment.Check("${"+name+"}") == nil; got != ok {
			t.Errorf("%s may be read: %v", name, got)
		}
	}
}

func TestEveryVariable(t *testing.T) {
	c := mustLoad(t,
		"GATEWAY_ADDR=0.0.0.0:9000", "GATEWAY_PUBLIC_URL=https://Gateway.example/", "GATEWAY_DATABASE_URL=postgres://u:p@h/d",
		"GATEWAY_ADMIN_TOKEN=0123456789abcdef", "GATEWAY_EGRESS_ALLOW=10.0.0.0/8, 192.168.1.1,fd00::/8", "GATEWAY_ENV_ALLOW=A_*, B", "A_1=one", "B=", "C=three",
		"GATEWAY_ALLOWED_HOSTS=a.example, b.example:443", "GATEWAY_ALLOWED_ORIGINS=https://app.example,http://localhost:3000", "GATEWAY_ALLOW_HTTP=false",
		"GATEWAY_MAX_STALENESS=1m30s", "GATEWAY_TRUSTED_PROXIES=172.16.0.0/12", "GATEWAY_LOG_FORMAT=json", "GATEWAY_LOG_LEVEL=debug",
		"GATEWAY_METRICS_TOKEN=fedcba9876543210", "GATEWAY_METRICS_ADDR=127.0.0.1:9090")
	if c.Addr != "0.0.0.0:9000" || c.LoopbackListener || c.PublicURL.String() != "https://Gateway.example" || c.DatabaseURL != "postgres://u:p@h/d" ||
		c.AdminToken.Reveal() != "0123456789abcdef" || c.MaxStaleness != 90*time.Second || c.LogJSON == nil || !*c.LogJSON || c.LogLevel != slog.LevelDebug {
		t.Errorf("loaded %+v", c)
	}
	if m := c.Metrics; m.Token.Reveal() != "fedcba9876543210" || m.Addr != "127.0.0.1:9090" || !m.Loopback {
		t.Errorf("metrics %+v", m)
	}
	for name, lists := range map[string][2]any{
		"egress":  {"[10.0.0.0/8 192.168.1.1/32 fd00::/8]", fmt.Sprint(c.EgressAllow)},
		"hosts":   {[]string{"a.example", "b.example:443"}, c.AllowedHosts},
		"origins": {[]string{"https://app.example", "http://localhost:3000"}, c.AllowedOrigins},
		"proxies": {[]netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}[0].String(), c.TrustedProxies[0].String()},
	} {
		if d := cmp.Diff(lists[0], lists[1]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if v, err := c.Environment.Resolve("${A_1}"); err != nil || v.Reveal() != "one" {
		t.Errorf("a reference: %v", err)
	}
	for _, name := range []string{"B", "A_2", "C"} {
		if _, err := c.Environment.Resolve("${" + name + "}"); err == nil {
			t.Errorf("%s resolves", name)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "0123456789abcdef") {
		t.Error("the configuration prints the administration token")
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "fedcba9876543210") {
		t.Error("the configuration prints the metrics token")
	}
}

func TestEmptyVariablesAreUnset(t *testing.T) {
	c := mustLoad(t, "GATEWAY_ADDR=", "GATEWAY_PUBLIC_URL=", "GATEWAY_ADMIN_TOKEN=", "GATEWAY_EGRESS_ALLOW=", "GATEWAY_LOG_FORMAT=", "GATEWAY_MAX_STALENESS=", "GATEWAY_ALLOW_HTTP=")
	if c.Addr != "127.0.0.1:8080" || c.MaxStaleness != 5*time.Minute || !c.AdminToken.IsZero() || len(c.EgressAllow) == 0 {
		t.Errorf("loaded %+v", c)
	}
}

func TestFlagOverridesEnvironment(t *testing.T) {
	c, err := config.Load([]string{withKeys, "GATEWAY_ADDR=nonsense"}, "127.0.0.1:1234")
	if err != nil || c.Addr != "127.0.0.1:1234" || c.PublicURL.String() != "http://127.0.0.1:1234" {
		t.Errorf("loaded %+v, %v", c, err)
	}
}

func TestSettingsFromFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c, err := config.Load([]string{
		"GATEWAY_SECRETS_KEYS_FILE=" + file("keys", goodKey+"\n"), "GATEWAY_ADMIN_TOKEN_FILE=" + file("token", " an administration token \r\n"),
		"GATEWAY_DATABASE_URL_FILE=" + file("dsn", "postgres://u:p@h/d"), "GATEWAY_LOG_LEVEL_FILE=" + file("level", "warn\n"),
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Keys.ActiveKID() != "k1" || c.AdminToken.Reveal() != " an administration token " || c.DatabaseURL != "postgres://u:p@h/d" || c.LogLevel != slog.LevelWarn {
		t.Errorf("loaded %+v", c)
	}
	token := file("token", "file-administration-token")
	missing := filepath.Join(dir, "missing")
	wantMistakes(t, []string{withKeys, "GATEWAY_ADMIN_TOKEN=0123456789abcdef", "GATEWAY_ADMIN_TOKEN_FILE=" + token, "GATEWAY_DATABASE_URL_FILE=" + missing, "GATEWAY_LOG_LEVEL_FILE=" + dir},
		"GATEWAY_ADMIN_TOKEN and GATEWAY_ADMIN_TOKEN_FILE are both set", "GATEWAY_DATABASE_URL_FILE: open "+missing, "GATEWAY_LOG_LEVEL_FILE: read "+dir)
}

func TestProblemsAreReportedTogether(t *testing.T) {
	wantMistakes(t, []string{
		"GATEWAY_ADDR=nonsense", "GATEWAY_PUBLIC_URL=ftp://x", "GATEWAY_DATABASE_URL=mysql://x", "GATEWAY_SECRETS_KEYS=short", "GATEWAY_ADMIN_TOKEN=0123456789abcde",
		"GATEWAY_EGRESS_ALLOW=10.0.0.0/33,intranet", "GATEWAY_ALLOWED_ORIGINS=app.example,null,https://a.example/path", "GATEWAY_ALLOW_HTTP=perhaps",
		"GATEWAY_MAX_STALENESS=soon", "GATEWAY_TRUSTED_PROXIES=x", "GATEWAY_LOG_FORMAT=xml", "GATEWAY_LOG_LEVEL=loud",
	},
		`GATEWAY_ADDR: "nonsense"`, `GATEWAY_PUBLIC_URL: "ftp://x"`, "GATEWAY_DATABASE_URL: ", "GATEWAY_ADMIN_TOKEN: use at least 16",
		`GATEWAY_EGRESS_ALLOW: "10.0.0.0/33"`, `GATEWAY_EGRESS_ALLOW: "intranet"`,
		`GATEWAY_ALLOWED_ORIGINS: "app.example"`, `GATEWAY_ALLOWED_ORIGINS: "https://a.example/path"`, `GATEWAY_ALLOWED_ORIGINS: "null"`,
		"GATEWAY_ALLOW_HTTP: ", "GATEWAY_MAX_STALENESS: ", `GATEWAY_TRUSTED_PROXIES: "x"`, "GATEWAY_LOG_FORMAT: use text or json", "GATEWAY_LOG_LEVEL: ", "GATEWAY_SECRETS_KEYS: Key 1")
}

func TestProblemsContainNoSecrets(t *testing.T) {
	const canary = "c4nary"
	for _, environ := range [][]string{
		{"GATEWAY_SECRETS_KEYS=k1:" + canary}, {"GATEWAY_SECRETS_KEYS=" + canary}, {"GATEWAY_ADMIN_TOKEN=" + canary, withKeys},
		{"GATEWAY_DATABASE_URL=mysql://u:" + canary + "@h/d", withKeys}, {"GATEWAY_DATABASE_URL=postgres://u:" + canary + "@h:p/d", withKeys},
	} {
		_, err := config.Load(environ, "")
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%v: got %v", environ, err)
		}
	}
}

func TestListenAddressForms(t *testing.T) {
	for _, tc := range []struct {
		addr     string
		loopback bool
		mistake  string
	}{
		{"127.0.0.1:8080", true, ""},
		{"127.9.9.9:1", true, ""},
		{"[::1]:8080", true, ""},
		{"localhost:0", true, ""},
		{"127.0.0.1:65535", true, ""},
		{"0.0.0.0:80", false, ""},
		{"[::]:80", false, ""},
		{"192.168.1.1:80", false, ""},
		{"gateway.internal:80", false, ""},
		{":8080", false, ""},
		{"127.0.0.1", false, "is not HOST:PORT"},
		{"8080", false, "is not HOST:PORT"},
		{"::1:8080", false, "is not HOST:PORT"},
		{"127.0.0.1:", false, "is not a number"},
		{"127.0.0.1:http", false, "is not a number"},
		{"127.0.0.1:65536", false, "is not a number"},
		{"127.0.0.1:-1", false, "is not a number"},
	} {
		c, err := config.Load([]string{withKeys, "GATEWAY_ADDR=" + tc.addr, "GATEWAY_PUBLIC_URL=https://gateway.example"}, "")
		if tc.mistake != "" {
			if err == nil || !strings.HasPrefix(err.Error(), "GATEWAY_ADDR: ") || !strings.Contains(err.Error(), tc.mistake) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v", tc.addr, err)
			}
			continue
		}
		if err != nil || c.LoopbackListener != tc.loopback {
			t.Errorf("%s: %v", tc.addr, err)
			continue
		}
		if allows := len(c.EgressAllow) > 0; allows != tc.loopback {
			t.Errorf("%s: private networks may be reached: %v", tc.addr, allows)
		}
	}
}

func TestWrongAddressIsOneMistake(t *testing.T) {
	wantMistakes(t, []string{withKeys, "GATEWAY_ADDR=127.0.0.1:99999"}, "GATEWAY_ADDR: the port")
}

func TestPublicURLForms(t *testing.T) {
	for text, want := range map[string]string{
		"https://gateway.example": "https://gateway.example", "https://gateway.example/": "https://gateway.example", "https://gateway.example:8443": "https://gateway.example:8443",
		"https://[::1]:1": "https://[::1]:1", "http://127.0.0.1:8080": "http://127.0.0.1:8080", "HTTPS://gateway.example": "https://gateway.example",
		"gateway.example": "", "gateway.example:443": "", "//gateway.example": "", "https://": "", "https://:443": "", "https://gateway.example/path": "",
		"https://gateway.example?x=1": "", "https://gateway.example#x": "", "https://u:p@gateway.example": "", "ftp://gateway.example": "", "https://gateway.example:x": "", "https://a b": "",
	} {
		c, err := config.Load([]string{withKeys, "GATEWAY_PUBLIC_URL=" + text}, "")
		switch {
		case want == "" && (err == nil || !strings.HasPrefix(err.Error(), "GATEWAY_PUBLIC_URL: ")):
			t.Errorf("%q: got %v", text, err)
		case want != "" && (err != nil || c.PublicURL.String() != want):
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestConfig(t *testing.T) {
	const reachable, loopback, https, http = "GATEWAY_ADDR=0.0.0.0:80", "GATEWAY_ADDR=127.0.0.1:80", "GATEWAY_PUBLIC_URL=https://g.example", "GATEWAY_PUBLIC_URL=http://g.example"
	const postgres, allow = "GATEWAY_DATABASE_URL=postgres://u:p@h/d", "GATEWAY_ALLOW_HTTP=true"
	key := func(b []byte) string { return "GATEWAY_SECRETS_KEYS=k1:" + base64.StdEncoding.EncodeToString(b) }
	random := []byte("0123456789abcdef0123456789abcdefX")
	for _, tc := range []struct {
		name    string
		environ []string
		mistake string
	}{
		{"http on loopback", []string{withKeys, loopback, http}, ""},
		{"https on loopback", []string{withKeys, loopback, https}, ""},
		{"https for others", []string{withKeys, reachable, https}, ""},
		{"http for others", []string{withKeys, reachable, http}, "GATEWAY_PUBLIC_URL: http requires"},
		{"http for others, allowed", []string{withKeys, reachable, http, allow}, ""},
		{"no public address for others", []string{withKeys, reachable}, "GATEWAY_PUBLIC_URL: set it"},
		{"no public address for others, http allowed", []string{withKeys, reachable, allow}, ""},
		{"no host at all", []string{withKeys, "GATEWAY_ADDR=:80", allow}, "GATEWAY_PUBLIC_URL: set it"},
		{"PostgreSQL without keys", []string{postgres}, "GATEWAY_SECRETS_KEYS: required with PostgreSQL"},
		{"PostgreSQL with keys", []string{postgres, withKeys}, ""},
		{"31 bytes", []string{postgres, key(random[:31])}, "GATEWAY_SECRETS_KEYS: "},
		{"32 bytes", []string{postgres, key(random[:32])}, ""},
		{"33 bytes", []string{postgres, key(random[:33])}, "GATEWAY_SECRETS_KEYS: "},
		{"all bytes equal", []string{postgres, key(make([]byte, 32))}, "GATEWAY_SECRETS_KEYS: "},
		{"two keys of one name", []string{"GATEWAY_SECRETS_KEYS=" + goodKey + "," + goodKey}, "GATEWAY_SECRETS_KEYS: "},
		{"a token of 15 characters", []string{withKeys, "GATEWAY_ADMIN_TOKEN=" + strings.Repeat("x", 15)}, "GATEWAY_ADMIN_TOKEN: "},
		{"a token of 16 characters", []string{withKeys, "GATEWAY_ADMIN_TOKEN=" + strings.Repeat("x", 16)}, ""},
		{"a metrics token of 15 characters", []string{withKeys, "GATEWAY_METRICS_TOKEN=" + strings.Repeat("x", 15)}, "GATEWAY_METRICS_TOKEN: use at least 16"},
		{"a metrics token of 16 characters", []string{withKeys, "GATEWAY_METRICS_TOKEN=" + strings.Repeat("x", 16)}, ""},
		{"metrics elsewhere", []string{withKeys, loopback, "GATEWAY_METRICS_ADDR=0.0.0.0:9090"}, ""},
		{"metrics on every address", []string{withKeys, loopback, "GATEWAY_METRICS_ADDR=:9090"}, ""},
		{"metrics at the same address", []string{withKeys, loopback, "GATEWAY_METRICS_ADDR=127.0.0.1:80"}, "GATEWAY_METRICS_ADDR: use another address"},
		{"metrics nowhere", []string{withKeys, loopback, "GATEWAY_METRICS_ADDR=9090"}, `GATEWAY_METRICS_ADDR: "9090" is not HOST:PORT`},
		{"metrics at no port", []string{withKeys, loopback, "GATEWAY_METRICS_ADDR=127.0.0.1:65536"}, "GATEWAY_METRICS_ADDR: the port"},
		{"no streams", []string{withKeys, "GATEWAY_MAX_STREAMS=0"}, "GATEWAY_MAX_STREAMS: use at least 1"},
		{"one stream", []string{withKeys, "GATEWAY_MAX_STREAMS=1"}, ""},
		{"a second factor of some", []string{withKeys, "GATEWAY_REQUIRE_SECOND_FACTOR=admin"}, `GATEWAY_REQUIRE_SECOND_FACTOR: use off, admins or everyone, not "admin"`},
		{"a second factor of administrators", []string{withKeys, "GATEWAY_REQUIRE_SECOND_FACTOR=admins"}, ""},
		{"events in a relative file", []string{withKeys, "GATEWAY_OUTBOX_FILE=events.jsonl"}, `GATEWAY_OUTBOX_FILE: use an absolute path, not "events.jsonl"`},
		{"events in a missing folder", []string{withKeys, "GATEWAY_OUTBOX_FILE=/nonexistent/events.jsonl"}, "GATEWAY_OUTBOX_FILE: the folder of"},
		{"events in a folder", []string{withKeys, "GATEWAY_OUTBOX_FILE=/tmp"}, `GATEWAY_OUTBOX_FILE: "/tmp" is a folder`},
		{"events in a file", []string{withKeys, "GATEWAY_OUTBOX_FILE=/tmp/events.jsonl"}, ""},
		{"hourly checks of the catalog", []string{withKeys, "GATEWAY_CATALOG_PROBE=hourly"}, `GATEWAY_CATALOG_PROBE: use off or daily, not "hourly"`},
		{"daily checks of the catalog", []string{withKeys, "GATEWAY_CATALOG_PROBE=daily"}, ""},
		{"no icons", []string{withKeys, "GATEWAY_CATALOG_ICONS=false"}, ""},
		{"some icons", []string{withKeys, "GATEWAY_CATALOG_ICONS=some"}, "GATEWAY_CATALOG_ICONS: use true or false"},
		{"a second factor of everyone", []string{withKeys, "GATEWAY_REQUIRE_SECOND_FACTOR=everyone"}, ""},
		{"an audit log of -1 years", []string{withKeys, "GATEWAY_AUDIT_YEARS=-1"}, "GATEWAY_AUDIT_YEARS: use 0 to keep the audit log for ever, or 1 to 100 years"},
		{"an audit log of 1 year", []string{withKeys, "GATEWAY_AUDIT_YEARS=1"}, ""},
		{"an audit log of 100 years", []string{withKeys, "GATEWAY_AUDIT_YEARS=100"}, ""},
		{"an audit log of 101 years", []string{withKeys, "GATEWAY_AUDIT_YEARS=101"}, "GATEWAY_AUDIT_YEARS: use 0"},
		{"backups of PostgreSQL", []string{withKeys, "GATEWAY_DATABASE_URL=postgres://db/g", "GATEWAY_BACKUP_DIR=/backup"}, "GATEWAY_BACKUP_DIR: scheduled backups require SQLite"},
		{"backups too often", []string{withKeys, "GATEWAY_BACKUP_EVERY=59s"}, "GATEWAY_BACKUP_EVERY: use a duration from 1m to 744h"},
		{"backups each minute", []string{withKeys, "GATEWAY_BACKUP_EVERY=1m"}, ""},
		{"backups each month", []string{withKeys, "GATEWAY_BACKUP_EVERY=744h"}, ""},
		{"backups too rarely", []string{withKeys, "GATEWAY_BACKUP_EVERY=744h1s"}, "GATEWAY_BACKUP_EVERY: use a duration from 1m to 744h"},
		{"no kept backup", []string{withKeys, "GATEWAY_BACKUP_KEEP=0"}, "GATEWAY_BACKUP_KEEP: use a number from 1 to 1000"},
		{"one kept backup", []string{withKeys, "GATEWAY_BACKUP_KEEP=1"}, ""},
		{"the most kept backups", []string{withKeys, "GATEWAY_BACKUP_KEEP=1000"}, ""},
		{"too many kept backups", []string{withKeys, "GATEWAY_BACKUP_KEEP=1001"}, "GATEWAY_BACKUP_KEEP: use a number from 1 to 1000"},
		{"a delay before now", []string{withKeys, "GATEWAY_DRAIN_DELAY=-1ns"}, "GATEWAY_DRAIN_DELAY: use a duration from 0s to 5m"},
		{"no delay", []string{withKeys, "GATEWAY_DRAIN_DELAY=0s"}, ""},
		{"nearly the longest delay", []string{withKeys, "GATEWAY_DRAIN_DELAY=4m59s"}, ""},
		{"the longest delay", []string{withKeys, "GATEWAY_DRAIN_DELAY=5m"}, ""},
		{"a longer delay", []string{withKeys, "GATEWAY_DRAIN_DELAY=5m1ns"}, "GATEWAY_DRAIN_DELAY: use a duration from 0s to 5m"},
		{"a delay that is none", []string{withKeys, "GATEWAY_DRAIN_DELAY=soon"}, "GATEWAY_DRAIN_DELAY: use a duration such as"},
		{"reports on a page", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=https://issues.example.com/new?template=row"}, ""},
		{"reports by email", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=mailto:catalog@example.com"}, ""},
		{"reports without encryption", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=http://issues.example.com/"}, "GATEWAY_CATALOG_REPORT_URL: use an https: or mailto: URL"},
		{"reports to a script", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=javascript:alert(1)"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports to no host", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=https:///new"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports with a password", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=https://u:p@issues.example.com"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports to a part of a page", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=https://issues.example.com/#new"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports to nobody", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=mailto:"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports to two people", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=mailto:a@example.com,b@example.com"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"reports to a path", []string{withKeys, "GATEWAY_CATALOG_REPORT_URL=/report"}, "GATEWAY_CATALOG_REPORT_URL: use"},
		{"negative streams", []string{withKeys, "GATEWAY_MAX_STREAMS=-1"}, "GATEWAY_MAX_STREAMS: use at least 1"},
		{"no connections", []string{withKeys, "GATEWAY_MAX_CONNECTIONS=0"}, "GATEWAY_MAX_CONNECTIONS: use at least 1"},
		{"one connection", []string{withKeys, "GATEWAY_MAX_CONNECTIONS=1"}, ""},
		{"no connections of an address", []string{withKeys, "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS=0"}, "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS: use at least 1"},
		{"one connection of an address", []string{withKeys, "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS=1"}, ""},
		{"too little request memory", []string{withKeys, "GATEWAY_REQUEST_MEMORY_MIB=7"}, "GATEWAY_REQUEST_MEMORY_MIB: use a number of MiB from 8"},
		{"the least request memory", []string{withKeys, "GATEWAY_REQUEST_MEMORY_MIB=8"}, ""},
		{"request memory with a unit", []string{withKeys, "GATEWAY_REQUEST_MEMORY_MIB=256MiB"}, "GATEWAY_REQUEST_MEMORY_MIB: use an integer"},
		{"too little result memory", []string{withKeys, "GATEWAY_RESULT_MEMORY_MIB=63"}, "GATEWAY_RESULT_MEMORY_MIB: use a number of MiB from 64"},
		{"the least result memory", []string{withKeys, "GATEWAY_RESULT_MEMORY_MIB=64"}, ""},
		{"the most result memory", []string{withKeys, "GATEWAY_RESULT_MEMORY_MIB=1048576"}, ""},
		{"too much result memory", []string{withKeys, "GATEWAY_RESULT_MEMORY_MIB=1048577"}, "GATEWAY_RESULT_MEMORY_MIB: use a number of MiB from 64 to 1048576"},
		{"staleness below a second", []string{withKeys, "GATEWAY_MAX_STALENESS=999ms"}, "GATEWAY_MAX_STALENESS: use at least 1s"},
		{"staleness of a second", []string{withKeys, "GATEWAY_MAX_STALENESS=1s"}, ""},
		{"negative staleness", []string{withKeys, "GATEWAY_MAX_STALENESS=-5m"}, "GATEWAY_MAX_STALENESS: use at least 1s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.mistake != "" {
				wantMistakes(t, tc.environ, tc.mistake)
				return
			}
			if _, err := config.Load(tc.environ, ""); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestKeyFileIsCreatedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	environ := []string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db")}
	path := filepath.Join(dir, "secrets.key")
	first, err := config.Load(environ, "")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key file has mode %v, %v", info, err)
	}
	if folder, err := os.Stat(dir); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", folder, err)
	}
	second, err := config.Load(environ, "")
	if err != nil || second.Keys.ActiveKID() != first.Keys.ActiveKID() {
		t.Errorf("the second start has another key: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	wantMistakes(t, environ, "GATEWAY_SECRETS_KEYS: ")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	wantMistakes(t, environ, "GATEWAY_SECRETS_KEYS: ")
}

func TestInvalidConfigWritesNothing(t *testing.T) {
	for name, more := range map[string]string{"a mistake": "GATEWAY_LOG_FORMAT=xml", "keys are given": withKeys} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			_, err := config.Load([]string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db"), more}, "")
			if (err == nil) != (more == withKeys) {
				t.Fatalf("got %v", err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the folder was created: %v", err)
			}
		})
	}
}

func TestUnwritableKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantMistakes(t, []string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(file, "gateway.db")}, "GATEWAY_DATABASE_URL: ")
}

func TestUnknownSettingsAreReported(t *testing.T) {
	key := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(key, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, "GATEWAY_LOG_LEVEL=info", "GATEWAY_ADMIN_TOKEN_FILE="+key, "GATEWAY_MAXSTREAMS=1", "GATEWAY_ALLOWED_HOST=a=b", "GATEWAY_MAXSTREAMS=2", "GATEWAY_RUNNER_TOKEN=gwc_x",
		"GATEWAY_SERVICE_HOST=10.0.0.1", "GATEWAY_PORT=tcp://10.0.0.1:80", "GATEWAY_PORT_80_TCP=x", "MY_GATEWAY_X=1", "GATEWAYS=1")
	if d := cmp.Diff([]string{"GATEWAY_ALLOWED_HOST", "GATEWAY_MAXSTREAMS"}, c.Unknown); d != "" {
		t.Error(d)
	}
	if c := mustLoad(t, "GATEWAY_RUNNER_TOKEN_FILE="+key); len(c.Unknown) != 1 {
		t.Errorf("%q with a file that no command reads", c.Unknown)
	}
	if c := mustLoad(t); c.Unknown != nil {
		t.Errorf("%q without any", c.Unknown)
	}
}
