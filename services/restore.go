package services

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/config"
	"mcpgateway/services/fault"
)

// checkKey is the name of the key that is active while a backup is checked.
const checkKey = "check"

// CheckedBackup is the result of CheckBackup.
type CheckedBackup struct {
	Size                            int64 // bytes
	Schema                          int64 // version of the schema in the file
	Pending                         int   // migrations that a start applies
	Secrets                         int   // sealed secrets, all of which open
	Audit                           activity.Verification
	Projects, Servers, Keys, People int64
}

// CheckBackup verifies that a backup of a SQLite database can be restored with
// the keys of the configuration. It works on a copy in a temporary directory,
// which it migrates; neither the file nor the configured database is changed. The
// error names the first problem: an unreadable or damaged file, a schema of a
// newer version, keys that don't open its secrets, or a changed audit log.
func CheckBackup(ctx context.Context, c *config.Config, file, version string, log *slog.Logger) (found CheckedBackup, err error) {
	dir, err := os.MkdirTemp("", "gateway-restore-") // mode 0700
	if err != nil {
		return found, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "gateway.db")
	if found.Size, err = copyBackup(file, path); err != nil {
		return found, err
	}
	if found.Schema, found.Pending, err = inspect(ctx, "sqlite:"+path); err != nil {
		return found, err
	}
	restored := *c
	restored.DatabaseURL, restored.Backup = "sqlite:"+path, config.Backup{}
	// Every secret is sealed again with a new key, which opens it first.
	if restored.Keys, err = c.Keys.WithNewKey(checkKey); err != nil {
		return found, err
	}
	s, err := New(ctx, &restored, version, log)
	if err != nil {
		return found, fmt.Errorf("schema: %w", err)
	}
	defer s.Close()
	err = s.verifyBackup(ctx, &found)
	return found, err
}

// verifyBackup opens every secret, verifies the audit log and counts rows.
func (s *Services) verifyBackup(ctx context.Context, found *CheckedBackup) (err error) {
	if found.Audit, err = s.Audit.Verify(ctx); err != nil && !errors.Is(err, activity.ErrTampered) {
		return keyProblem(err)
	}
	changed := err
	if found.Secrets, err = s.Rekey(ctx); err != nil && !errors.Is(err, activity.ErrTampered) {
		return keyProblem(err)
	}
	if changed != nil {
		return fmt.Errorf("audit log: %w, or GATEWAY_SECRETS_KEYS has another key of the same name", changed)
	}
	for count, model := range map[*int64]any{&found.Projects: &models.Project{}, &found.Servers: &models.Server{}, &found.Keys: &models.Key{}, &found.People: &models.User{}} {
		if err := s.DB.WithContext(ctx).Model(model).Count(count).Error; err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}

// keyProblem returns the problem of a key, without the causes that the message
// explains already.
func keyProblem(err error) error { return fmt.Errorf("keys: %s", fault.From(err).Message) }

// copyBackup copies a backup and returns its size. It returns an error unless the
// file is a SQLite database.
func copyBackup(file, path string) (int64, error) {
	source, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	start := make([]byte, 16)
	n, err := io.ReadFull(source, start)
	switch {
	case bytes.HasPrefix(start[:n], []byte("PGDMP")):
		return 0, errors.New("file: it is a dump of PostgreSQL. Restore it into an empty database with pg_restore --no-owner, then run `gateway audit verify` there")
	case err != nil || string(start) != "SQLite format 3\x00":
		return 0, errors.New("file: it is not a SQLite database")
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	target, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(target, source)
	return size, errors.Join(err, target.Close())
}

// inspect checks that a database is intact, and returns the version of its schema
// and the number of migrations that it lacks.
func inspect(ctx context.Context, dsn string) (schema int64, pending int, err error) {
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return 0, 0, fmt.Errorf("file: it is damaged: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return 0, 0, err
	}
	defer pool.Close()
	var result string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result); err != nil {
		return 0, 0, fmt.Errorf("file: it is damaged: %w", err)
	}
	if result != "ok" {
		return 0, 0, fmt.Errorf("file: it is damaged: %s", result)
	}
	var newest sql.NullInt64
	if err := pool.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&newest); err != nil {
		return 0, 0, errors.New("schema: it is not a database of the gateway")
	}
	steps, err := migrations.Status(ctx, pool, "sqlite")
	if err != nil {
		return 0, 0, err
	}
	for _, step := range steps {
		if !step.Applied {
			pending++
		}
	}
	if last := steps[len(steps)-1].Version; newest.Int64 > last {
		return 0, 0, fmt.Errorf("schema: version %d is newer than %d, the newest that this program has. Use the version of the gateway that wrote it, or a later one", newest.Int64, last)
	}
	return newest.Int64, pending, nil
}
