package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
)

func TestBackupIsComplete(t *testing.T) {
	environ := surroundings(t)
	const declaration = `{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:1/mcp"}}}}}`
	command := func(environ []string, code int, args ...string) (out, errs string) {
		t.Helper()
		got, out, errs := commandLine(t, environ, declaration, args...)
		if got != code {
			t.Fatalf("%v: exit code %d: %s", args, got, errs)
		}
		return out, errs
	}
	command(environ, 0, "apply", "-f", "-")
	file := filepath.Join(t.TempDir(), "copy.db")
	command(environ, 0, "backup", "-o", file)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode of the backup = %v, %v", info.Mode(), err)
	}
	restored := append([]string{}, environ...)
	for i, setting := range restored {
		if strings.HasPrefix(setting, "GATEWAY_DATABASE_URL=") {
			restored[i] = "GATEWAY_DATABASE_URL=sqlite:" + file
		}
	}
	want, _ := command(environ, 0, "export")
	if got, _ := command(restored, 0, "export"); got != want || !strings.Contains(got, "docs") {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
	if _, errs := command(environ, exitFailed, "backup", "-o", file); !strings.Contains(errs, "already exists") {
		t.Errorf("second backup to the same file: %s", errs)
	}
	command(environ, exitUsage, "backup")
}

// TestDumpIsComplete restores a pg_dump and starts a gateway on it.
func TestDumpIsComplete(t *testing.T) {
	keys := "old:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	on := func(dsn string) []string {
		return []string{
			"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_SECRETS_KEYS=" + keys,
			"GATEWAY_BUILTIN_CATALOG=false", "GATEWAY_LOG_FORMAT=json",
		}
	}
	const declaration = `{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:1/mcp","authType":"bearer","authBearer":"secret"}}}}}`
	command := func(dsn string, args ...string) string {
		t.Helper()
		code, out, errs := commandLine(t, on(dsn), declaration, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		return out
	}
	lost := modelstest.Postgres(t)
	command(lost, "apply", "-f", "-")
	key := strings.TrimSpace(command(lost, "keys", "create", "--project", "work"))
	restored := modelstest.Restored(t, lost)
	for _, args := range [][]string{{"export"}, {"keys", "list", "--project", "work", "--json"}, {"audit", "verify"}} {
		want, got := command(lost, args...), command(restored, args...)
		if got != want || want == "" {
			t.Errorf("%v on the restored database:\n%s\nwant\n%s", args, got, want)
		}
	}
	keys = "new:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=," + keys
	if got := command(restored, "rekey"); got != "1 secrets resealed with key new\n" { // each was decrypted first
		t.Errorf("rekey of the restored database: %s", got)
	}
	s := startServing(t, on(restored))
	status, body := listWith(t, s.url, key)
	if status != 200 || !strings.Contains(body, "gateway_searchMcpForTask") {
		t.Errorf("gateway on the restored database: status %d, %s", status, body)
	}
	s.end()
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// listWith lists the tools of the project work with a key.
func listWith(t *testing.T, url, key string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/mcp/work/request", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}
