package modelstest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mcpgateway/migrations"
)

// AdminVariable is the environment variable with the address of a running
// PostgreSQL cluster whose user can create databases. If it is empty, each test
// process starts its own temporary cluster.
const AdminVariable = "GATEWAY_TEST_POSTGRES"

// templateLock is the advisory lock for creating the template database of a
// shared cluster: "gwtest" in ASCII.
const templateLock = 0x677774657374

// adminTimeout limits the creation and removal of a database.
const adminTimeout = 60 * time.Second

// cluster is the cluster of this test process. Its watchdog stops it when the
// process ends. The value is kept because garbage collection would stop the
// cluster.
var cluster = sync.OnceValues(func() (*Cluster, error) {
	if admin := os.Getenv(AdminVariable); admin != "" {
		return &Cluster{URL: admin}, nil
	}
	return StartCluster()
})

// template is the name of the migrated database that others are copied from.
var template = sync.OnceValues(func() (string, error) {
	c, err := cluster()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	return prepareTemplate(ctx, c.URL)
})

// Postgres returns the address of a new migrated PostgreSQL database. It is
// dropped with its connections when the test ends. The test fails if PostgreSQL
// is not installed.
func Postgres(t testing.TB) string {
	t.Helper()
	skipShort(t)
	name, err := template()
	if err != nil {
		t.Fatalf("prepare PostgreSQL database: %v", err)
	}
	return createPostgres(t, name)
}

// skipShort skips tests on PostgreSQL in go test -short.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests don't start PostgreSQL")
	}
}

func emptyPostgres(t *testing.T) string {
	t.Helper()
	return createPostgres(t, "template0")
}

func createPostgres(t testing.TB, from string) string {
	t.Helper()
	skipShort(t)
	name := "gwtest_" + strings.ToLower(rand.Text())
	dsn := newDatabase(t, name, from)
	t.Cleanup(func() {
		if err := dropDatabase(name); err != nil {
			t.Errorf("drop PostgreSQL database: %v", err)
		}
	})
	return dsn
}

// newDatabase creates a database and returns its address.
func newDatabase(t testing.TB, name, from string) string {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	if err := execute(c.URL, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, from)); err != nil {
		t.Fatalf("create PostgreSQL database: %v", err)
	}
	dsn, err := withDatabase(c.URL, name)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

func dropDatabase(name string) error {
	c, err := cluster()
	if err != nil {
		return err
	}
	return execute(c.URL, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
}

// prepareTemplate returns the name of the template for the current migrations
// and creates it if it is missing. The name contains the fingerprint of the
// migrations.
func prepareTemplate(ctx context.Context, admin string) (string, error) {
	sum, err := fingerprint("postgres")
	if err != nil {
		return "", err
	}
	name := "gwtemplate_" + sum[:16]
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // also releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", err
	}
	var stands bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&stands); err != nil {
		return "", err
	}
	if stands {
		return name, nil
	}
	// The unfinished database has another name, so that an interrupted process
	// leaves no partial template.
	draft := name + "_draft"
	dsn, err := withDatabase(admin, draft)
	if err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+draft+" WITH (FORCE)"); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+draft+" TEMPLATE template0"); err != nil {
		return "", err
	}
	if err := migrate(ctx, dsn); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+name)
	return name, err
}

// execute runs a statement on a new connection. It doesn't use the test's
// context, which has ended when cleanups run.
func execute(admin, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// withDatabase returns the address with another database name.
func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return "", fmt.Errorf("%s must be a postgres:// address", AdminVariable)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// fingerprint returns the SHA-256, in hexadecimal, of the names and contents
// of the dialect's migrations: equal fingerprints mean equal schemas.
func fingerprint(dialect string) (string, error) {
	sub, err := migrations.Files(dialect)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(sub, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(sub, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
