package activity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
)

// firstDay is the time of the first row, in the precision of the database.
var firstDay = start.Truncate(time.Millisecond)

// yearly returns a log with a row of each day.
func yearly(t *testing.T, db *gorm.DB, days int) *log {
	t.Helper()
	l := keyed(t, db, oldKey)
	for n := range days {
		l.at = firstDay.Add(time.Duration(n) * day)
		l.record(t.Context(), t, activity.Entry{Action: fmt.Sprintf("day.%d", n)})
	}
	return l
}

func seqs(t *testing.T, l *log) (first, last int64, n int) {
	t.Helper()
	rows := l.rows(t)
	return rows[0].Seq, rows[len(rows)-1].Seq, len(rows)
}

func TestTrimRemovesOldRows(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		l := yearly(t, db, 5)
		for _, tt := range []struct {
			before        time.Time
			removed       int
			first, stored int64
		}{
			{firstDay.Add(2*day - time.Millisecond), 2, 3, 4}, // rows 3 to 5 and its own
			{firstDay.Add(2 * day), 0, 3, 4},
			{firstDay.Add(2*day + time.Millisecond), 1, 4, 4},
		} {
			if n, err := l.Trim(t.Context(), tt.before); err != nil || n != tt.removed {
				t.Fatalf("Trim(%v) = %d, %v, want %d", tt.before, n, err, tt.removed)
			}
			first, last, n := seqs(t, l)
			found, err := l.Verify(t.Context())
			if err != nil || first != tt.first || int64(n) != tt.stored || found.Removed != tt.first-1 || found.Count != last {
				t.Errorf("after Trim(%v): rows %d to %d, %+v, %v", tt.before, first, last, found, err)
			}
		}
		rows := l.rows(t)
		if own := rows[len(rows)-1]; own.Action != "audit.trimmed" || own.Object != "rows up to 3" || own.Detail["rows"] != "1" {
			t.Errorf("recorded %+v", own)
		}
	})
}

func TestTrimAllRowsInBatches(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, n := range []int{activity.TrimmedAtOnce - 1, activity.TrimmedAtOnce, activity.TrimmedAtOnce + 1} {
			for _, table := range []string{"audit_entries", "audit_anchors"} {
				if err := db.Exec("DELETE FROM " + table).Error; err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Exec("UPDATE audit_heads SET seq = 0, hash = ''").Error; err != nil {
				t.Fatal(err)
			}
			l := keyed(t, db, oldKey)
			l.record(t.Context(), t, make([]activity.Entry, n)...)
			l.at = firstDay.Add(day)
			if removed, err := l.Trim(t.Context(), firstDay.Add(time.Hour)); err != nil || removed != n {
				t.Fatalf("%d rows: Trim() = %d, %v", n, removed, err)
			}
			if found, err := l.Verify(t.Context()); err != nil || found.Removed != int64(n) {
				t.Errorf("%d rows: %+v, %v", n, found, err)
			}
		}
	})
}

// TestTrimmedLogDetectsTampering changes a trimmed log like an attacker who can
// write to the database but has no key.
func TestTrimmedLogDetectsTampering(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		l := yearly(t, db, 6)
		if _, err := l.Trim(t.Context(), firstDay.Add(2*day)); err != nil {
			t.Fatal(err)
		}
		empty := map[string]string{"sqlite": "x''", "postgres": "''"}[db.Name()]
		forged := "UPDATE audit_anchors SET seq = 4, hash = (SELECT hash FROM audit_entries WHERE seq = 4)"
		for name, tt := range map[string]struct {
			want       string
			statements []string
		}{
			"anchor deleted":             {"row 1 is missing", []string{"DELETE FROM audit_anchors"}},
			"more rows removed":          {"row 3 is missing", []string{"DELETE FROM audit_entries WHERE seq = 3"}},
			"anchor moved":               {"the MAC of its anchor is wrong", []string{forged, "DELETE FROM audit_entries WHERE seq <= 4"}},
			"anchor moved without MAC":   {"the MAC of its anchor is wrong", []string{forged + ", key_id = '', mac = " + empty, "DELETE FROM audit_entries WHERE seq <= 4"}},
			"anchor with another MAC":    {"the MAC of its anchor is wrong", []string{"UPDATE audit_anchors SET mac = (SELECT mac FROM audit_heads)"}},
			"anchor with another hash":   {"the MAC of its anchor is wrong", []string{"UPDATE audit_anchors SET hash = (SELECT hash FROM audit_entries WHERE seq = 5)"}},
			"anchor of rows without MAC": {"the MAC of its anchor is wrong", []string{"UPDATE audit_anchors SET row_key_id = ''"}},
			"anchor of another time":     {"the MAC of its anchor is wrong", []string{"UPDATE audit_anchors SET at = '2001-02-03 04:05:06'"}},
			"row changed":                {"row 4 was changed", []string{"UPDATE audit_entries SET action = 'x' WHERE seq = 4"}},
			"first row changed":          {"row 3 was changed", []string{"UPDATE audit_entries SET action = 'x' WHERE seq = 3"}},
		} {
			t.Run(name, func(t *testing.T) {
				tx := db.Begin()
				defer tx.Rollback()
				run(t, tx, tt.statements...)
				k := keyed(t, tx, oldKey)
				if _, err := k.Verify(t.Context()); !errors.Is(err, activity.ErrTampered) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Verify() = %v, want %q", err, tt.want)
				}
				before := rowsIn(t, tx)
				if _, err := k.Trim(t.Context(), firstDay.Add(5*day)); !errors.Is(err, activity.ErrTampered) {
					t.Errorf("Trim() = %v", err)
				}
				if after := rowsIn(t, tx); after != before {
					t.Errorf("Trim() of a changed log left %d of %d rows", after, before)
				}
			})
		}
		if _, err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func rowsIn(t *testing.T, db *gorm.DB) (n int64) {
	t.Helper()
	if err := db.Model(&models.AuditEntry{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTrimmedLogSurvivesRotation(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		l := yearly(t, db, 4)
		if _, err := l.Trim(t.Context(), firstDay.Add(2*day)); err != nil {
			t.Fatal(err)
		}
		found, err := l.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keyed(t, db, newKey+","+oldKey).Rekey(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := keyed(t, db, newKey).Verify(t.Context()); err != nil || got != found {
			t.Errorf("with only the new key: %+v, want %+v (%v)", got, found, err)
		}
	})
}
