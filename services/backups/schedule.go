package backups

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

const (
	partialPrefix = ".gateway-partial-"
	prefix        = "gateway-"
	suffix        = ".db"
	// nameTime is the form of the time in names, in UTC. Names sort by time.
	nameTime = "20060102T150405.000Z"
	// pollInterval is the maximum time between checks for a due backup.
	pollInterval = time.Minute
)

// Schedule writes backups of a SQLite database.
type Schedule struct {
	db      *gorm.DB
	options Options
	now     func() time.Time
	log     *slog.Logger

	done, failed atomic.Int64
	last         atomic.Int64 // Unix milliseconds of the last success; 0 before it
}

// Options are those of a schedule.
type Options struct {
	Dir   string
	Every time.Duration // between the starts of two backups
	Keep  int           // number of kept files
}

// Stats are the results since the start. Last is the zero time before the first
// success.
type Stats struct {
	Done, Failed int64
	Last         time.Time
}

// New returns the schedule.
func New(db *gorm.DB, options Options, now func() time.Time, log *slog.Logger) *Schedule {
	return &Schedule{db: db, options: options, now: now, log: log}
}

// Stats returns the results since the start.
func (s *Schedule) Stats() Stats {
	stats := Stats{Done: s.done.Load(), Failed: s.failed.Load()}
	if last := s.last.Load(); last != 0 {
		stats.Last = time.UnixMilli(last).UTC()
	}
	return stats
}

// Usable returns why no backup can be written to the folder, or nil.
func Usable(dir string) error {
	probe, err := os.CreateTemp(dir, partialPrefix+"*")
	if err != nil {
		return err
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// Run writes a backup at the start and after every interval, until ctx ends. A
// start soon after the newest backup waits for the rest of the interval, so that
// restarts don't replace older backups. A failure is logged and counted, and the
// next attempt is after pollInterval.
func (s *Schedule) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !s.due() {
			timer.Reset(min(pollInterval, s.options.Every))
			continue
		}
		if path, err := s.Make(ctx); err == nil {
			s.log.Info("backup written", "file", path)
		} else if ctx.Err() == nil {
			s.log.Error("backup failed", "folder", s.options.Dir, "error", err)
		}
		timer.Reset(min(pollInterval, s.options.Every))
	}
}

// due reports whether the newest backup is older than the interval. A newest
// backup of the future, after a change of the clock, doesn't count.
func (s *Schedule) due() bool {
	files, err := s.Files()
	if err != nil || len(files) == 0 {
		return true
	}
	at, err := time.Parse(nameTime, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[0]), prefix), suffix))
	age := s.now().Sub(at)
	return err != nil || age >= s.options.Every || age < 0
}

// Make writes a backup and deletes the oldest ones beyond the limit, and what is
// left of interrupted ones. It returns the name of the file. If it fails, no file
// is deleted.
func (s *Schedule) Make(ctx context.Context) (string, error) {
	s.removePartial()
	path := filepath.Join(s.options.Dir, prefix+s.now().UTC().Format(nameTime)+suffix)
	if err := Copy(ctx, s.db, path); err != nil {
		s.failed.Add(1)
		return "", err
	}
	s.done.Add(1)
	s.last.Store(s.now().UnixMilli())
	files, err := s.Files()
	if err != nil {
		return path, err
	}
	for _, old := range files[min(s.options.Keep, len(files)):] {
		if err := os.Remove(old); err != nil {
			s.log.Warn("old backup not deleted", "file", old, "error", err)
		}
	}
	return path, nil
}

// Files returns the complete backups of the folder, newest first. Other files
// are ignored.
func (s *Schedule) Files() ([]string, error) {
	entries, err := os.ReadDir(s.options.Dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		at, isOurs := strings.CutPrefix(name, prefix)
		at, hasSuffix := strings.CutSuffix(at, suffix)
		if _, err := time.Parse(nameTime, at); isOurs && hasSuffix && err == nil && entry.Type().IsRegular() {
			files = append(files, filepath.Join(s.options.Dir, name))
		}
	}
	slices.Sort(files)
	slices.Reverse(files)
	return files, nil
}

// removePartial deletes the files of interrupted backups.
func (s *Schedule) removePartial() {
	partial, _ := filepath.Glob(filepath.Join(s.options.Dir, partialPrefix+"*"))
	for _, file := range partial {
		_ = os.Remove(file)
	}
}
