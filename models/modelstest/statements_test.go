package modelstest_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3/driver"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

func TestOnStatementSeesAllConnections(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]int{}
	modelstest.OnStatement(t, db, func(statement string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(statement, "`projects`") {
			statement = "of the ORM"
		}
		seen[statement]++
	})
	var all []*sql.Conn // acquired together, so that they are distinct
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	for _, conn := range all {
		for statement, values := range map[string][]any{"DELETE FROM projects": nil, "SELECT ?": {"of database/sql"}} {
			if _, err := conn.ExecContext(t.Context(), statement, values...); err != nil {
				t.Fatal(err)
			}
		}
		err := conn.Raw(func(raw any) error {
			stmt, _, err := raw.(driver.Conn).Raw().Prepare("SELECT 'past both'")
			if err != nil {
				return err
			}
			defer stmt.Close()
			return stmt.Exec()
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Find(&[]models.Project{}).Error; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"SELECT ?": len(all), "COMMIT": len(all), "SELECT 'past both'": len(all), "of the ORM": 1}
	if d := cmp.Diff(want, seen); d != "" || len(all) < 2 {
		t.Errorf("of %d connections (-want +got):\n%s", len(all), d)
	}
}
