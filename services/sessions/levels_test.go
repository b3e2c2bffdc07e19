package sessions_test

import (
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
	"mcpgateway/services/sessions"
)

// eachLevels runs a test with a function that opens the levels of at most 3
// sessions on one database, as concurrent or successive processes do.
func eachLevels(t *testing.T, test func(t *testing.T, db *gorm.DB, open func() *sessions.Levels, advance func(time.Duration))) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		test(t, db, func() *sessions.Levels {
			l := sessions.NewLevels(db, feed, 3, func() time.Time { return now })
			if err := l.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			return l
		}, func(d time.Duration) { now = now.Add(d) })
	})
}

func set(t *testing.T, l *sessions.Levels, session, level string) {
	t.Helper()
	if err := l.Set(t.Context(), session, level); err != nil {
		t.Fatal(err)
	}
}

func wantLevel(t *testing.T, l *sessions.Levels, session, want string) {
	t.Helper()
	if got := l.Of(session); got != want {
		t.Errorf("Of(%s) = %q, want %q", session, got, want)
	}
}

func TestLevelsSurviveRestart(t *testing.T) {
	eachLevels(t, func(t *testing.T, db *gorm.DB, open func() *sessions.Levels, advance func(time.Duration)) {
		first, other := open(), open()
		wantLevel(t, first, "a", "")
		set(t, first, "a", "info")
		advance(time.Second)
		set(t, first, "b", "error")
		set(t, first, "a", "debug")
		wantLevel(t, first, "a", "debug")

		wantLevel(t, other, "a", "")
		if err := other.Changed(t.Context(), notify.Sessions()); err != nil || other.Of("a") != "" {
			t.Errorf("another topic changed levels: %v", err)
		}
		for range 2 {
			if err := other.Changed(t.Context(), notify.SessionLevels()); err != nil {
				t.Fatal(err)
			}
			wantLevel(t, other, "a", "debug")
			wantLevel(t, other, "b", "error")
		}
		advance(time.Second)
		set(t, first, "a", "alert")
		if err := other.Changed(t.Context(), notify.SessionLevels()); err != nil {
			t.Fatal(err)
		}
		wantLevel(t, other, "a", "alert")

		restarted := open()
		wantLevel(t, restarted, "a", "alert")
		wantLevel(t, restarted, "b", "error")
		if err := restarted.Forget(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		wantLevel(t, restarted, "a", "")
		wantLevel(t, open(), "a", "")

		advance(sessions.Lifetime - time.Second - time.Millisecond) // b was set 1 s ago
		wantLevel(t, open(), "b", "error")
		advance(time.Millisecond)
		wantLevel(t, open(), "b", "")
		set(t, open(), "c", "info")
		var rows int64
		if err := db.Model(&models.SessionLevel{}).Count(&rows).Error; err != nil || rows != 1 {
			t.Errorf("%d rows after the sweep, %v, want 1", rows, err)
		}
	})
}

func TestMaxLevels(t *testing.T) {
	eachLevels(t, func(t *testing.T, db *gorm.DB, open func() *sessions.Levels, advance func(time.Duration)) {
		l := open()
		count := func() (rows int64) {
			if err := db.Model(&models.SessionLevel{}).Count(&rows).Error; err != nil {
				t.Fatal(err)
			}
			return rows
		}
		for i, session := range []string{"a", "b", "c"} {
			set(t, l, session, "info")
			advance(time.Second)
			if n := count(); n != int64(i+1) {
				t.Errorf("%d rows after %s", n, session)
			}
		}
		wantLevel(t, l, "a", "info") // now b is the oldest
		set(t, l, "d", "info")
		for session, want := range map[string]string{"a": "info", "b": "", "c": "info", "d": "info"} {
			wantLevel(t, l, session, want)
			wantLevel(t, open(), session, want)
		}
		if n := count(); n != 3 {
			t.Errorf("%d rows beyond the limit, want 3", n)
		}
	})
}
