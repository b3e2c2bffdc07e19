package traffic_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity/traffic"
)

// BenchmarkReport measures the numbers of 24 hours and the day before, and the
// tools of 24 hours, of a project with 100,000 calls a day.
func BenchmarkReport(b *testing.B) {
	for dialect, dsn := range map[string]func(testing.TB) string{"sqlite": modelstest.SQLite, "postgres": modelstest.Postgres} {
		db := modelstest.Open(b, dsn(b))
		fill(b, db, 200_000)
		store := traffic.New(db, func() time.Time { return noon })
		period, _ := traffic.Last("24h", noon)
		b.Run(dialect+"/report", func(b *testing.B) {
			for b.Loop() {
				r, err := store.Report(b.Context(), traffic.Filter{ProjectID: "p"}, period, true)
				if err != nil || r.Totals.Calls < 90_000 || r.Previous.Calls < 90_000 {
					b.Fatal(r, err)
				}
			}
		})
		b.Run(dialect+"/top", func(b *testing.B) {
			for b.Loop() {
				if rows, err := store.Top(b.Context(), traffic.Filter{ProjectID: "p"}, period, traffic.ByTool, 10); err != nil || len(rows) != 10 {
					b.Fatal(rows, err)
				}
			}
		})
	}
}

// fill stores n calls of the two days before noon.
func fill(tb testing.TB, db *gorm.DB, n int) {
	tb.Helper()
	at := "strftime('%Y-%m-%d %H:%M:%f', ? + (i * ?) , 'unixepoch', 'subsec')"
	if db.Name() == "postgres" {
		at = "to_timestamp(?::float8 + (i * ?::float8))"
	}
	start := noon.Add(-48 * time.Hour)
	id := "printf('%08x-%04x-7000-8000-%012d', m >> 16, m & 65535, i)"
	if db.Name() == "postgres" {
		id = "lpad(to_hex(m >> 16), 8, '0') || '-' || lpad(to_hex(m & 65535), 4, '0') || '-7000-8000-' || lpad(i::text, 12, '0')"
	}
	step := 48 * 3600 / float64(n)
	err := db.Exec(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < ?), t AS (SELECT i, CAST((? + i * CAST(? AS double precision)) * 1000 AS bigint) AS m FROM n)
		INSERT INTO calls (id, at, project_id, principal, tool, server, duration_us, request_bytes, response_bytes, outcome, code, request_id)
		SELECT %s, %s, 'p', 'key:' || (i %% 7), 'up__tool' || (i %% 97 * i %% 97), 'up', 1000 + (i %% 5000 * 7919) %% 5000000, 100, 1000,
		CASE WHEN i %% 50 = 0 THEN 'error' ELSE 'ok' END, '', 'request-' || i FROM t`, id, at),
		n, start.Unix(), step, start.Unix(), step).Error
	if err != nil {
		tb.Fatal(err)
	}
}
