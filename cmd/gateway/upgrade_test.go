package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/web/webtest"
)

// releases are the databases of released versions. Its README describes the
// procedure.
var releases = filepath.Join("testdata", "upgrade")

// TestReleasedDatabases starts the gateway on the database of every released
// version and uses what it holds.
func TestReleasedDatabases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(releases, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob = %q, %v, want a database", files, err)
	}
	for _, file := range files {
		version := strings.TrimSuffix(filepath.Base(file), ".json")
		keys := map[string]string{}
		text, err := os.ReadFile(file) //nolint:gosec // a file of this package
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		t.Run(version, func(t *testing.T) {
			modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
				dialect, _, _ := strings.Cut(dsn, ":")
				loadReleased(t, dsn, filepath.Join(releases, version+"."+dialect+".sql"))
				checkReleased(t, dsn, keys[dialect])
			})
		})
	}
}

// loadReleased runs a dump on an empty database.
func loadReleased(t *testing.T, dsn, dump string) {
	t.Helper()
	text, err := os.ReadFile(dump) //nolint:gosec // a file of this package
	if err != nil {
		t.Fatal(err)
	}
	pool, err := modelstest.Open(t, dsn).DB()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatalf("%s: %v", dump, err)
	}
}

func checkReleased(t *testing.T, dsn, key string) {
	const token = "token-of-the-fixture"
	environ := []string{
		"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_SECRETS_KEYS=fixture:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "GATEWAY_ADMIN_TOKEN=" + token,
		"GATEWAY_BUILTIN_CATALOG=false", "GATEWAY_LOG_FORMAT=json",
	}
	if _, out, _ := commandLine(t, environ, "", "migrate", "status"); !strings.Contains(out, "applied") {
		t.Errorf("migrate status = %q, want the migrations of the release as applied", out)
	}
	s := startServing(t, environ)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tests := []struct {
		name, path, bearer, body string
		want, not                []string
	}{
		{"tools", "/v1/mcp/work/request", key, list, []string{`"clock__current_time"`, `"gateway_searchMcpForTask"`}, []string{`"clock__convert_time"`}},
		{"demo", "/v1/mcp/demo/request", key, demoCall, []string{`"structuredContent"`}, nil},
		{"server", "/api/projects/work/servers", token, "", []string{`"headerNames":["X-Fixture"]`}, []string{"a secret of the fixture"}},
		{"key", "/api/projects/work/keys", token, "", []string{`"name":"fixture"`}, nil},
		{"users", "/api/people", token, "", []string{"admin@example.com", "viewer@example.com"}, nil},
		{"calls", "/api/calls?project=work", token, "", []string{"clock__current_time"}, nil},
		{"audit log", "/api/audit", token, "", []string{"key.created"}, nil},
		{"catalog", "/api/registry?query=fixture", token, "", []string{"Orders of the fixture"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method := http.MethodGet
			if tt.body != "" {
				method = http.MethodPost
			}
			r, err := http.NewRequestWithContext(t.Context(), method, s.url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+tt.bearer)
			r.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			webtest.Check(t, webtest.Case{Status: 200, WantBody: tt.want, NotBody: tt.not}, webtest.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(body)})
		})
	}
	end(t, s)
	for _, command := range []struct{ args, want string }{
		{"migrate up", "0 migrations applied"}, {"audit verify", " rows"}, {"rekey", "key fixture"}, {"export --project work", `"X-Fixture": "[secret]"`},
	} {
		if code, out, errs := commandLine(t, environ, "", strings.Fields(command.args)...); code != 0 || !strings.Contains(out, command.want) {
			t.Errorf("%s = %d %q %q, want %q", command.args, code, out, errs, command.want)
		}
	}
}
