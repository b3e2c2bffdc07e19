package main

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// database opens the database of a command's environment.
func database(t *testing.T, environ []string) *gorm.DB {
	t.Helper()
	for _, setting := range environ {
		dsn, found := strings.CutPrefix(setting, "GATEWAY_DATABASE_URL=")
		if !found {
			continue
		}
		db, err := models.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close() })
		return db
	}
	t.Fatal("no database in the environment")
	return nil
}

func TestAuditOfCommands(t *testing.T) {
	environ := surroundings(t)
	command := func(code int, args ...string) (out, errs string) {
		t.Helper()
		got, out, errs := commandLine(t, environ, `{"projects":{"work":{}}}`, args...)
		if got != code {
			t.Fatalf("%v: exit code %d: %s", args, got, errs)
		}
		return out, errs
	}
	command(0, "migrate", "up")
	if out, _ := command(0, "audit", "verify"); out != "The audit log is empty.\n" {
		t.Errorf("printed %q", out)
	}
	command(0, "apply", "-f", "-")
	command(0, "keys", "create", "--project", "work", "--name", "ci")
	db := database(t, environ)
	var key models.Key
	if err := db.First(&key).Error; err != nil {
		t.Fatal(err)
	}
	command(0, "keys", "rotate", "--project", "work", "--id", key.ID, "--grace", "1h")
	command(0, "keys", "revoke", "--project", "work", "--id", key.ID)
	file := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(file, []byte(twoRows), 0o600); err != nil {
		t.Fatal(err)
	}
	command(0, "catalog", "import", "--file", file)
	out, _ := command(0, "audit", "verify")
	if !regexp.MustCompile(`^5 rows, all unchanged; hash of the last row: [0-9a-f]{64}\n5 rows have a MAC of GATEWAY_SECRETS_KEYS, 0 from earlier versions do not\n$`).MatchString(out) {
		t.Errorf("printed %q", out)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var rows []models.AuditEntry
	if err := db.Order("seq").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	actions := ""
	for _, row := range rows {
		actions += row.Action + " "
		if row.ActorKind != "cli" || row.ActorName != me.Username {
			t.Errorf("actor of %s is %s %s", row.Action, row.ActorKind, row.ActorName)
		}
	}
	if actions != "project.created key.created key.rotated key.revoked catalog.imported " {
		t.Errorf("recorded %s", actions)
	}
	if err := db.Exec("UPDATE audit_entries SET object = 'other' WHERE seq = 2").Error; err != nil {
		t.Fatal(err)
	}
	if out, errs := command(1, "audit", "verify"); out != "" || errs != "gateway: audit log was tampered with: row 2 was changed\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	for _, args := range [][]string{{"audit"}, {"audit", "list"}, {"audit", "verify", "x"}} {
		if _, errs := command(2, args...); !strings.Contains(errs, "usage: gateway audit verify") {
			t.Errorf("%v: %s", args, errs)
		}
	}
}
