package routes_test

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcpgateway/routes/routestest"
)

// TestFullDiskStillRevokes fills a real file system. Changes then get 507, but
// keys can be revoked and servers disabled.
func TestFullDiskStillRevokes(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("mounting a file system requires root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	app := routestest.New(t, "sqlite:"+filepath.Join(dir, "gateway.db"))
	app.Apply(t, `{"projects":{"p":{"mcpServers":{"s":{"url":"http://127.0.0.1:9/mcp"}}}}}`)
	var keys []string
	for range 3 {
		id, _ := app.Key(t, "p", 0)
		keys = append(keys, id)
	}
	server := app.ServerID(t, "p", "s")
	send := func(method, path, body string) (int, string) {
		t.Helper()
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Host = "127.0.0.1:8080"
		request.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
		request.Header.Set("Content-Type", "application/json")
		answer, err := app.Test(request, 60_000)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(raw)
	}
	fillDisk(t, filepath.Join(dir, "ballast"))
	full := false
	for i := 0; i < 500 && !full; i++ { // the remaining space of the write-ahead log is used up first
		status, body := send("PATCH", "/api/projects/p", `{"description":"`+strings.Repeat("x", 1000+i)+`"}`)
		if full = status == 507; full && !strings.Contains(body, `"code":"STORAGE_FULL"`) || status != 200 && !full {
			t.Fatalf("change %d: status %d: %s", i, status, body)
		}
	}
	if !full {
		t.Fatal("disk was never full")
	}
	for _, id := range keys {
		if status, body := send("DELETE", "/api/keys/"+id, ""); status != 204 {
			t.Errorf("revoking a key: status %d: %s", status, body)
		}
	}
	if status, body := send("PATCH", "/api/servers/"+server, `{"enabled":false}`); status != 200 {
		t.Errorf("disabling a server: status %d: %s", status, body)
	}
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
	if status, body := send("PATCH", "/api/projects/p", `{"description":"done"}`); status != 200 {
		t.Errorf("with space again: status %d: %s", status, body)
	}
}

// fillDisk writes a file until its file system is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}
