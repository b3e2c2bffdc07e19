package activity_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

// TestOnlyCallsAreNotSynced observes a database with one connection: the call
// log doesn't wait for the disk, but later changes on the same connection do.
func TestOnlyCallsAreNotSynced(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = conn.Raw(func(raw any) error {
		return raw.(driver.Conn).Raw().SetAuthorizer(func(action sqlite3.AuthorizerActionCode, name3rd, name4th, _, _ string) sqlite3.AuthorizerReturnCode {
			switch {
			case action == sqlite3.AUTH_PRAGMA && name3rd == "synchronous":
				got = append(got, name4th)
			case action == sqlite3.AUTH_INSERT:
				got = append(got, name3rd)
			}
			return sqlite3.AUTH_OK
		})
	})
	if err != nil || conn.Close() != nil {
		t.Fatal(err)
	}
	record(t, db, func(c *activity.Calls) { c.Record(call(1, "up__a", 1, models.CallOK)) })
	if err := db.Create(&models.Revision{Topic: "changed", Revision: 1}).Error; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"normal", "calls", "usage_days", "full", "revisions"}, slices.Compact(got)); diff != "" {
		t.Errorf("prepared statements (-want +got):\n%s", diff)
	}
}
