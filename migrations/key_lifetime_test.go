package migrations_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"mcpgateway/models/modelstest"
)

func TestOldKeyLifetimesAreMigrated(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		dialect := map[string]goose.Dialect{"sqlite": goose.DialectSQLite3, "postgres": goose.DialectPostgres}[db.Name()]
		p, err := goose.NewProvider(dialect, pool(t, db), os.DirFS(db.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.UpTo(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`INSERT INTO projects (id, slug, name, description, auth_mode, code_mode_enabled, code_mode_timeout_ms, code_mode_allow_fetch, tool_exposure, tool_name_limit, disabled_tools, rate_per_second, rate_burst, created_at, updated_at)
				VALUES ('p', 'p', '', '', 'none', false, 0, false, 'full', 0, '[]', 0, 0, '2026-03-01 12:00:00.000', '2026-03-01 12:00:00.000')`,
			`INSERT INTO keys (id, project_id, name, hash, prefix, created_at, expires_at) VALUES ('1', 'p', '', '1', '', '2026-03-01 12:00:00.123', '2026-03-02 12:00:00.124')`,
			`INSERT INTO keys (id, project_id, name, hash, prefix, created_at, expires_at) VALUES ('2', 'p', '', '2', '', '2026-03-01 12:00:00.999', '2066-03-01 12:00:00.000')`,
			`INSERT INTO keys (id, project_id, name, hash, prefix, created_at, expires_at) VALUES ('3', 'p', '', '3', '', '2026-03-01 12:00:00.000', NULL)`,
		} {
			if err := db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.UpTo(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		var got []int64
		if err := db.Raw("SELECT lifetime_ms FROM keys ORDER BY id").Scan(&got).Error; err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int64{86_400_001, 14610*86_400_000 - 999, 0}, got); d != "" {
			t.Errorf("lifetimes (-want +got):\n%s", d)
		}
		if _, err := p.DownTo(t.Context(), 6); err != nil {
			t.Error(err)
		}
	})
}
