package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
)

func TestRestoreCheck(t *testing.T) {
	const oldKey, otherKey = "k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
	dir := t.TempDir()
	with := func(keys string) []string {
		return []string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db"), "GATEWAY_SECRETS_KEYS=" + keys, "GATEWAY_LOG_FORMAT=json"}
	}
	const declaration = `{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:1/mcp","authType":"bearer","authBearer":"secret"}}}}}`
	good := filepath.Join(dir, "good.db")
	for _, args := range [][]string{{"apply", "-f", "-"}, {"backup", "-o", good}} {
		if code, _, errs := commandLine(t, with(oldKey), declaration, args...); code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := func(name string, statements ...string) string {
		t.Helper()
		path := write(name, raw)
		db := modelstest.Open(t, "sqlite:"+path)
		for _, statement := range append(statements, "PRAGMA wal_checkpoint(TRUNCATE)") {
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	damaged := slices.Clone(raw)
	for at := 4096 * 3; at < len(damaged)-4096; at += 4096 {
		copy(damaged[at:], strings.Repeat("\xff", 64))
	}
	for _, tt := range []struct {
		name, file, keys string
		want             string // "" for a good backup
	}{
		{"good backup", good, oldKey, ""},
		{"rotated keys", good, "k2:" + otherKey + "," + oldKey, ""},
		{"missing file", filepath.Join(dir, "missing.db"), oldKey, "no such file"},
		{"no database", write("text.db", []byte("not a database, but long enough")), oldKey, "file: it is not a SQLite database"},
		{"empty file", write("empty.db", nil), oldKey, "file: it is not a SQLite database"},
		{"dump of PostgreSQL", write("pg.dump", []byte("PGDMP\x01\x0e")), oldKey, "file: it is a dump of PostgreSQL. Restore it into an empty database with pg_restore"},
		{"damaged file", write("damaged.db", damaged), oldKey, "file: it is damaged"},
		{"truncated file", write("half.db", raw[:len(raw)/2]), oldKey, "file: it is damaged"},
		{"missing key", good, "k2:" + otherKey, `keys: `},
		{"wrong key", good, "k1:" + otherKey, `keys: `},
		{"newer schema", changed("newer.db", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"), oldKey, "schema: version 9999 is newer than"},
		{"database of another program", changed("other.db", "DROP TABLE goose_db_version"), oldKey, "schema: it is not a database of the gateway"},
		{"changed audit log", changed("changed.db", "UPDATE audit_entries SET action = 'x' WHERE seq = 1"), oldKey, "audit log: audit log was tampered with: row 1 was changed"},
		{"changed secret", changed("secret.db", "UPDATE servers SET auth_bearer = substr(auth_bearer, 1, length(auth_bearer) - 4) || 'AAAA'"), oldKey, "keys: The stored secret of servers/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, _ := os.ReadFile(tt.file)
			code, out, errs := commandLine(t, with(tt.keys), "", "restore", "--check", tt.file)
			switch {
			case tt.want != "" && (code != exitFailed || !strings.Contains(errs, tt.want) || out != ""):
				t.Errorf("exit code %d, %s%s, want %q", code, out, errs, tt.want)
			case tt.want == "" && (code != 0 || !regexp.MustCompile(`can be restored\.\nfile: intact, \d+ bytes\nschema: version \d+, 0 migrations pending\nkeys: 1 sealed secrets open\naudit log: \d+ rows, all unchanged; hash of the last row: [0-9a-f]{64}\nstored: 1 projects, 1 servers, 0 keys, 0 people\n$`).MatchString(out)):
				t.Errorf("exit code %d, %s%s", code, out, errs)
			}
			if after, _ := os.ReadFile(tt.file); string(after) != string(before) {
				t.Error("the check changed the file")
			}
		})
	}
	for _, args := range [][]string{{"restore"}, {"restore", good}} {
		if code, _, errs := commandLine(t, with(oldKey), "", args...); code != exitUsage || !strings.Contains(errs, "restore --check FILE") {
			t.Errorf("%v: exit code %d, %s", args, code, errs)
		}
	}
}

// TestRestoreCheckCreatesNoKeys checks a backup on a machine without keys.
func TestRestoreCheckCreatesNoKeys(t *testing.T) {
	dir := t.TempDir()
	environ := []string{"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(dir, "gateway.db")}
	code, _, errs := commandLine(t, environ, "", "restore", "--check", filepath.Join(dir, "backup.db"))
	if code != exitFailed || !strings.Contains(errs, "no keys: set GATEWAY_SECRETS_KEYS") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("created %v, %v", entries, err)
	}
}

// TestBackupOfPostgreSQL dumps a database with pg_dump, and names the command
// where there is none.
func TestBackupOfPostgreSQL(t *testing.T) {
	environ := []string{"GATEWAY_DATABASE_URL=" + modelstest.Postgres(t), "GATEWAY_SECRETS_KEYS=k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
	file := filepath.Join(t.TempDir(), "gateway.dump")
	t.Setenv("PATH", modelstest.ClientPath(t))
	if code, out, errs := commandLine(t, environ, "", "backup", "-o", file); code != 0 || !strings.Contains(out, "Backup written to "+file) {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(raw), "PGDMP") {
		t.Errorf("dump begins with %.5q, %v", raw, err)
	}
	if code, _, errs := commandLine(t, environ, "", "backup", "-o", file); code != exitFailed || !strings.Contains(errs, "already exists") {
		t.Errorf("second backup to the same file: %d, %s", code, errs)
	}
	t.Setenv("PATH", t.TempDir())
	other := filepath.Join(t.TempDir(), "other.dump")
	code, _, errs := commandLine(t, environ, "", "backup", "-o", other)
	if want := fmt.Sprintf(`pg_dump --format=custom --file=%s "$GATEWAY_DATABASE_URL"`, other); code != exitFailed || !strings.Contains(errs, want) {
		t.Errorf("without pg_dump: %d, %s, want %s", code, errs, want)
	}
}

func TestUnusableBackupFolderStopsStart(t *testing.T) {
	environ := surroundings(t, "GATEWAY_BACKUP_DIR="+filepath.Join(t.TempDir(), "missing"))
	code, _, errs := commandLine(t, environ, "", "serve", "--addr", "127.0.0.1:0")
	if code != exitUsage || !strings.Contains(errs, "GATEWAY_BACKUP_DIR: ") || !strings.Contains(errs, "Create the folder") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
