package backups_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/backups"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func database(t *testing.T) *gorm.DB {
	t.Helper()
	return modelstest.Open(t, modelstest.SQLite(t))
}

// schedule returns a schedule whose clock is at.
func schedule(t *testing.T, db *gorm.DB, keep int, at *time.Time) (*backups.Schedule, string) {
	t.Helper()
	dir := t.TempDir()
	options := backups.Options{Dir: dir, Every: time.Hour, Keep: keep}
	return backups.New(db, options, func() time.Time { return *at }, slog.New(slog.DiscardHandler)), dir
}

// names returns the names in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestBackupsAreKept(t *testing.T) {
	db := database(t)
	const keep = 3
	at := start
	s, dir := schedule(t, db, keep, &at)
	for _, other := range []string{"gateway-other.db", "notes.txt", "gateway-20260301T110000.000Z.db.old"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gateway-partial-1"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= keep+1; n++ { // keep-1, keep and keep+1 files
		path, err := s.Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		files, err := s.Files()
		if err != nil || len(files) != min(n, keep) || files[0] != path {
			t.Errorf("after %d backups: %q, %v", n, files, err)
		}
		at = at.Add(time.Hour)
	}
	left := strings.Join(names(t, dir), " ")
	if want := "gateway-20260301T110000.000Z.db.old gateway-20260301T130000.000Z.db gateway-20260301T140000.000Z.db gateway-20260301T150000.000Z.db gateway-other.db notes.txt"; left != want {
		t.Errorf("folder has %s, want %s", left, want)
	}
	if stats := s.Stats(); stats.Done != keep+1 || stats.Failed != 0 || !stats.Last.Equal(at.Add(-time.Hour)) {
		t.Errorf("stats = %+v", stats)
	}
}

func TestFailedBackupDeletesNothing(t *testing.T) {
	db, at := database(t), start
	s, dir := schedule(t, db, 1, &at)
	if _, err := s.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	at = at.Add(time.Hour)
	if _, err := s.Make(ended); err == nil {
		t.Error("backup with an ended context succeeded")
	}
	if _, err := s.Make(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Make(t.Context()); !errors.Is(err, backups.ErrExists) {
		t.Errorf("second backup of the same time: %v", err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "gateway-20260301T130000.000Z.db" {
		t.Errorf("folder has %q", got)
	}
	if stats := s.Stats(); stats.Done != 2 || stats.Failed != 2 {
		t.Errorf("stats = %+v", stats)
	}
}

// TestBackupUnderLoad copies a database while rows are written: each copy is
// intact and has every row that was committed before it began.
func TestBackupUnderLoad(t *testing.T) {
	db, at := database(t), start
	s, _ := schedule(t, db, 10, &at)
	var committed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			if err := db.Create(&models.Call{ID: fmt.Sprintf("%010d", n), At: start, ProjectID: "p"}).Error; err != nil {
				ended <- err
				return
			}
			committed.Store(n)
		}
		ended <- nil
	}()
	for range 5 {
		before := committed.Load()
		path, err := s.Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Hour)
		restored := modelstest.Open(t, "sqlite:"+path)
		var count, last int64
		var result string
		if err := errors.Join(
			restored.Model(&models.Call{}).Count(&count).Error,
			restored.Raw("SELECT coalesce(max(CAST(id AS integer)), 0) FROM calls").Scan(&last).Error,
			restored.Raw("PRAGMA integrity_check").Scan(&result).Error,
		); err != nil {
			t.Fatal(err)
		}
		if count < before || count != last || result != "ok" {
			t.Errorf("%d rows up to %d after %d commits, %s", count, last, before, result)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if committed.Load() == 0 {
		t.Error("nothing was written")
	}
}

func TestUsableFolder(t *testing.T) {
	dir := t.TempDir()
	if err := backups.Usable(dir); err != nil || len(names(t, dir)) != 0 {
		t.Errorf("a folder: %v, %q", err, names(t, dir))
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{filepath.Join(dir, "missing"), file} {
		if backups.Usable(other) == nil {
			t.Errorf("%s is usable", other)
		}
	}
}
