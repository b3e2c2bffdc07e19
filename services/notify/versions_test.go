package notify_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
)

func TestOlderReplicas(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		p.run(t)
		p.awaitFresh(t)
		older := func() bool {
			found, err := notify.OlderReplicas(p.db.WithContext(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if older() {
			t.Error("a replica of this version is an older one")
		}
		if strings.HasPrefix(dsn, "sqlite:") {
			return
		}
		// The older replica's database user has no rights over this one's, and
		// neither has this one's in the second case.
		address, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		role := "older_" + strings.TrimPrefix(address.Path, "/")
		for _, statement := range []string{"CREATE ROLE " + role + " LOGIN PASSWORD 'older'", "GRANT pg_read_all_data TO " + role} {
			if err := p.db.Exec(statement).Error; err != nil {
				t.Fatal(err)
			}
		}
		address.User = url.UserPassword(role, "older")
		before := connect(t, address.String())
		if !older() {
			t.Error("a replica of an older version is not found")
		}
		watching := modelstest.Open(t, address.String())
		mine := connect(t, dsn)
		if err := before.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if found, err := notify.OlderReplicas(watching); err != nil || !found {
			t.Errorf("a replica of another database user is not found: %v", err)
		}
		if err := mine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Second); older(); { // the server ends it soon after the client
			if time.Now().After(deadline) {
				t.Fatal("an ended replica is found")
			}
		}
	})
}

// connect connects as the change feed of a version before this one.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["application_name"] = "gateway change feed"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}
