package backups_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/backups"
)

// TestRunsFromStart expects a backup at the start, then after each interval, and
// none after a restart within an interval.
func TestRunsFromStart(t *testing.T) {
	db, dir := database(t), t.TempDir()
	if err := db.Exec("SELECT 1").Error; err != nil { // opens the connection outside of the bubble
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		count := func(runFor time.Duration) int {
			s := backups.New(db, backups.Options{Dir: dir, Every: time.Hour, Keep: 100}, time.Now, slog.New(slog.DiscardHandler))
			ctx, cancel := context.WithTimeout(t.Context(), runFor)
			defer cancel()
			s.Run(ctx)
			files, err := s.Files()
			if err != nil || s.Stats().Failed != 0 {
				t.Fatal(err, s.Stats())
			}
			return len(files)
		}
		for _, tt := range []struct {
			runFor time.Duration
			want   int
		}{{59 * time.Minute, 1}, {30 * time.Second, 1}, {2 * time.Minute, 2}, {3*time.Hour + time.Minute, 5}} {
			if got := count(tt.runFor); got != tt.want {
				t.Errorf("after %v more: %d backups, want %d", tt.runFor, got, tt.want)
			}
		}
	})
}
