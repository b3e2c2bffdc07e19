package refused_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity/refused"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func newLog(db *gorm.DB) *refused.Log {
	return refused.New(db, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
}

// write runs the log until everything is stored.
func write(l *refused.Log) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	l.Run(ended)
}

func list(t *testing.T, l *refused.Log, project string) (reasons []string) {
	t.Helper()
	rows, err := l.List(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		reasons = append(reasons, row.Reason)
	}
	return reasons
}

func TestNewestAreKept(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, n := range []int{refused.Kept - 1, refused.Kept, refused.Kept + 1, 3*refused.Kept + 1} {
			for _, parts := range []int{1, 4} { // with a write after each
				l, project := newLog(db), fmt.Sprint(n, " ", parts)
				for i := range n {
					l.Record(models.RefusedRequest{ProjectID: project, Reason: fmt.Sprint(i)})
					if parts > 1 && i%(n/parts) == 0 {
						write(l)
					}
				}
				check := func(when string) {
					got := list(t, l, project)
					if len(got) != min(n, refused.Kept) || got[0] != fmt.Sprint(n-1) || got[len(got)-1] != fmt.Sprint(n-len(got)) {
						t.Errorf("%s of %d in %d parts: %v", when, n, parts, got)
					}
				}
				check("before the write")
				write(l)
				check("after the write")
				var stored int64
				if err := db.Model(&models.RefusedRequest{}).Where("project_id = ?", project).Count(&stored).Error; err != nil || stored != int64(min(n, refused.Kept)) {
					t.Errorf("%d rows stored (%v), want %d", stored, err, min(n, refused.Kept))
				}
			}
		}
	})
}

func TestOtherReplicasShowAll(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		first, second := newLog(db), newLog(db)
		first.Record(models.RefusedRequest{ProjectID: "p", Reason: "first"})
		write(first)
		second.Record(models.RefusedRequest{ProjectID: "p", Reason: "second"})
		second.Record(models.RefusedRequest{ProjectID: "q", Reason: "other"})
		write(second)
		for _, l := range []*refused.Log{first, second} {
			if got := strings.Join(list(t, l, "p"), " "); got != "second first" {
				t.Errorf("List() = %q, want second first", got)
			}
		}
	})
}

// TestFloodsAreBounded records many requests of many projects at once.
func TestFloodsAreBounded(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	l := newLog(db)
	var running sync.WaitGroup
	for part := range 8 {
		running.Go(func() {
			for i := range 2_000 {
				l.Record(models.RefusedRequest{ProjectID: fmt.Sprint((i + part) % 100), Reason: strings.Repeat("x ", 10_000)})
			}
		})
	}
	running.Wait()
	if n := refused.Waiting(l); n > refused.MaxWaiting || n < refused.MaxWaiting/2 {
		t.Errorf("%d requests wait, want at most %d", n, refused.MaxWaiting)
	}
	if err := refused.Flush(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	var stored int64
	if err := db.Model(&models.RefusedRequest{}).Count(&stored).Error; err != nil || stored > refused.MaxWaiting || stored == 0 || refused.Waiting(l) != 0 {
		t.Errorf("%d rows stored and %d wait (%v), want at most %d and 0", stored, refused.Waiting(l), err, refused.MaxWaiting)
	}
}

func TestNoCredentialsAreStored(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		const key = "gwk_0123456789abcdefABCDEF"
		l := newLog(db)
		l.Record(models.RefusedRequest{
			ProjectID: "p", Method: key, Endpoint: "toolset " + key, Code: key, Reason: "Host \"" + key + "\" is not allowed.\x00\xff", Client: "client Authorization: Bearer abcdefgh12345678",
			Address: key, RequestID: key,
		})
		l.Record(models.RefusedRequest{ProjectID: "p", Reason: strings.Repeat("ä", 400), Client: strings.Repeat("c", 50_000)})
		for range 2 {
			rows, err := l.List(t.Context(), "p")
			if err != nil || len(rows) != 2 {
				t.Fatal(rows, err)
			}
			if text := fmt.Sprint(rows[1]); strings.Contains(text, "0123456789") || strings.Contains(text, "abcdefgh") {
				t.Errorf("stored %s", text)
			}
			if n, m := utf8.RuneCountInString(rows[0].Reason), len([]rune(rows[0].Client)); n != 300 || m != 120 {
				t.Errorf("%d and %d characters, want 300 and 120", n, m)
			}
			write(l)
		}
	})
}

func TestOldRequestsAreRemoved(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for i, age := range []time.Duration{refused.Retention + time.Millisecond, refused.Retention, 0} {
			if err := db.Create(&models.RefusedRequest{ID: fmt.Sprint(i), At: noon.Add(-age), ProjectID: "p", Reason: age.String()}).Error; err != nil {
				t.Fatal(err)
			}
		}
		l := newLog(db)
		if err := l.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(list(t, l, "p"), " "); got != "0s "+refused.Retention.String() {
			t.Errorf("List() = %q", got)
		}
	})
}
