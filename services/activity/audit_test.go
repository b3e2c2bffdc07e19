package activity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

// log is an audit log with a test clock.
type log struct {
	*activity.Audit
	db *gorm.DB
	at time.Time
}

func newLog(db *gorm.DB) *log {
	l := &log{db: db, at: start}
	l.Audit = activity.NewAudit(db, func() time.Time { return l.at })
	return l
}

func each(t *testing.T, f func(t *testing.T, l *log)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) { f(t, newLog(db)) })
}

// record adds entries in one transaction.
func (l *log) record(ctx context.Context, t *testing.T, entries ...activity.Entry) {
	t.Helper()
	err := l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return l.RecordAll(tx, entries) })
	if err != nil {
		t.Fatal(err)
	}
}

func (l *log) rows(t *testing.T) []models.AuditEntry {
	t.Helper()
	var rows []models.AuditEntry
	if err := l.db.Order("seq").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRecordStoresActorAndChange(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		ctx := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorUser, ID: "u1", Name: "Ada", IP: "192.0.2.1", RequestID: "r1"})
		l.record(ctx, t, activity.Entry{Action: "key.created", Object: "ci", ObjectID: "k1", Project: "work", Detail: map[string]string{"b": "2", "a": "<1>"}})
		l.record(t.Context(), t, activity.Entry{Action: "project.deleted", Object: "work"})
		rows := l.rows(t)
		if len(rows) != 2 {
			t.Fatalf("%d rows", len(rows))
		}
		want := models.AuditEntry{
			Seq: 1, At: start.Truncate(time.Millisecond), ActorKind: "user", ActorID: "u1", ActorName: "Ada", IP: "192.0.2.1", RequestID: "r1",
			Action: "key.created", Object: "ci", ObjectID: "k1", Project: "work", Detail: models.StringMap{"a": "<1>", "b": "2"}, PrevHash: []byte{}, Hash: rows[0].Hash, MAC: []byte{},
		}
		if d := cmp.Diff(want, rows[0]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if rows[1].ActorKind != "system" || rows[1].Seq != 2 || !cmp.Equal(rows[1].PrevHash, rows[0].Hash) || len(rows[0].Hash) != 32 {
			t.Errorf("second row = %+v", rows[1])
		}
	})
}

func TestFailedChangeLeavesNoRow(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		failed := errors.New("failed")
		err := l.db.Transaction(func(tx *gorm.DB) error {
			if err := l.Record(tx, activity.Entry{Action: "x"}); err != nil {
				t.Fatal(err)
			}
			return failed
		})
		if !errors.Is(err, failed) || len(l.rows(t)) != 0 {
			t.Errorf("%v, and %d rows remain", err, len(l.rows(t)))
		}
		l.record(t.Context(), t, activity.Entry{Action: "y"})
		if found, err := l.Verify(t.Context()); err != nil || found.Count != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestRowsAreTruncated(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		for _, n := range []int{activity.MaxField - 1, activity.MaxField, activity.MaxField + 1} {
			detail := map[string]string{}
			for i := range activity.MaxDetail + 1 {
				detail[fmt.Sprintf("%02d", i)] = strings.Repeat("é", n)
			}
			l.record(t.Context(), t, activity.Entry{Action: "x", Object: strings.Repeat("ü", n), Detail: detail})
			rows := l.rows(t)
			row := rows[len(rows)-1]
			want := min(n, activity.MaxField)
			if got := len([]rune(row.Object)); got != want {
				t.Errorf("%d characters stored as %d, want %d", n, got, want)
			}
			if got := len([]rune(row.Detail["00"])); got != want || len(row.Detail) != activity.MaxDetail {
				t.Errorf("%d details, the first with %d characters", len(row.Detail), got)
			}
		}
		l.record(t.Context(), t, activity.Entry{Action: "odd", Object: "a\x00b\xffc\r\n", Detail: map[string]string{"\x00": "\xff", "empty": ""}})
		if found, err := l.Verify(t.Context()); err != nil || found.Count != 4 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestAuditChain(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		if found, err := l.Verify(t.Context()); err != nil || found != (activity.Verification{}) {
			t.Errorf("Verify() of an empty log = %+v, %v", found, err)
		}
		const n = 2005 // more than two pages of the verification
		entries := make([]activity.Entry, n)
		for i := range entries {
			entries[i] = activity.Entry{Action: "x", Object: fmt.Sprint(i + 1), Detail: map[string]string{"n": fmt.Sprint(i)}}
		}
		l.record(t.Context(), t, entries...)
		found, err := l.Verify(t.Context())
		if err != nil || found.Count != n || found.Head != fmt.Sprintf("%x", l.rows(t)[n-1].Hash) {
			t.Fatalf("%+v, %v", found, err)
		}
		cases := []struct {
			name, broken string
			do           []string
		}{
			{"action", "row 1 was changed", []string{"UPDATE audit_entries SET action = 'y' WHERE seq = 1"}},
			{"actor", "row 1000 was changed", []string{"UPDATE audit_entries SET actor_name = 'somebody else' WHERE seq = 1000"}},
			{"detail", "row 1001 was changed", []string{"UPDATE audit_entries SET detail = '{}' WHERE seq = 1001"}},
			{"detail moved into the object", "row 7 was changed", []string{`UPDATE audit_entries SET detail = '{}', object = '7n6' WHERE seq = 7`}},
			{"moment", "row 2005 was changed", []string{"UPDATE audit_entries SET at = '2026-03-01 12:00:00.124+00:00' WHERE seq = 2005"}},
			{"removed first row", "row 1 is missing", []string{"DELETE FROM audit_entries WHERE seq = 1"}},
			{"removed in between", "row 1000 is missing", []string{"DELETE FROM audit_entries WHERE seq = 1000"}},
			{"removed and numbered anew", "row 2004 does not follow", []string{"DELETE FROM audit_entries WHERE seq = 2004", "UPDATE audit_entries SET seq = 2004 WHERE seq = 2005"}},
			{"exchanged", "row 4 does not follow", []string{"UPDATE audit_entries SET seq = 0 WHERE seq = 4", "UPDATE audit_entries SET seq = 4 WHERE seq = 5", "UPDATE audit_entries SET seq = 5 WHERE seq = 0"}},
			{"removed last row", "row 2005 is missing", []string{"DELETE FROM audit_entries WHERE seq = 2005"}},
			{"all removed", "row 1 is missing", []string{"DELETE FROM audit_entries"}},
			{"copied last row", "row 2006 does not follow", []string{"INSERT INTO audit_entries SELECT 2006, at, actor_kind, actor_id, actor_name, ip, request_id, action, object, object_id, project, detail, prev_hash, hash, key_id, mac FROM audit_entries WHERE seq = 2005"}},
			{"head set back", "row 2005 was added after its end", []string{"UPDATE audit_heads SET seq = 2004"}},
			{"head of another row", "row 2005 is not the last one written", []string{"UPDATE audit_heads SET hash = (SELECT hash FROM audit_entries WHERE seq = 2004)"}},
			{"head removed", "the head row is missing", []string{"DELETE FROM audit_heads"}},
			{"moved first row", "row 1 is missing", []string{"UPDATE audit_entries SET seq = 3000 WHERE seq = 1"}},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				tx := l.db.Begin()
				for _, statement := range c.do {
					done := tx.Exec(statement)
					if done.Error != nil || done.RowsAffected == 0 {
						t.Errorf("%s: %v", statement, done.Error)
					}
				}
				// In the transaction, which is rolled back for the next case.
				_, err := activity.NewAudit(tx, time.Now).Verify(t.Context())
				tx.Rollback()
				if !errors.Is(err, activity.ErrTampered) || !strings.Contains(err.Error(), c.broken) {
					t.Errorf("Verify() = %v, want %q", err, c.broken)
				}
			})
		}
		if after, err := l.Verify(t.Context()); err != nil || after != found {
			t.Errorf("log changed by the test cases: %+v, %v", after, err)
		}
	})
}

func TestAuditChainOfConcurrentWriters(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		const processes, writers, writes = 2, 4, 10
		var writing sync.WaitGroup
		last := activity.NewAudit(modelstest.Open(t, dsn), time.Now)
		for p := range processes {
			db := modelstest.Open(t, dsn)
			log := activity.NewAudit(db, time.Now)
			for w := range writers {
				writing.Go(func() {
					for i := range writes {
						err := db.Transaction(func(tx *gorm.DB) error {
							return log.RecordAll(tx, []activity.Entry{{Action: "a", Object: fmt.Sprint(p, w, i)}, {Action: "b"}})
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			writing.Go(func() {
				for range writes { // a reader sees a snapshot of the log
					if _, err := log.Verify(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
		if found, err := last.Verify(t.Context()); err != nil || found.Count != processes*writers*writes*2 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestUnreadableLogIsNotTampered(t *testing.T) {
	l := newLog(modelstest.Open(t, modelstest.SQLite(t)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Verify(ctx); !fault.Is(err, fault.CodeInternal) || errors.Is(err, activity.ErrTampered) {
		t.Errorf("Verify() = %v", err)
	}
}

func TestList(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		ada := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorUser, ID: "u1", Name: "Ada"})
		cli := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorCLI, Name: "root"})
		steps := []struct {
			ctx context.Context
			e   activity.Entry
		}{
			1: {ada, activity.Entry{Action: "key.created", Object: "ci", ObjectID: "k1", Project: "work"}},
			2: {cli, activity.Entry{Action: "key.revoked", Object: "ci", ObjectID: "k1", Project: "work"}},
			3: {ada, activity.Entry{Action: "keyring.x", Object: "100%", Project: "play"}},
			4: {t.Context(), activity.Entry{Action: "server.updated", Object: "github", ObjectID: "s1", Project: "work"}},
		}
		for i, s := range steps[1:] {
			l.at = start.Add(time.Duration(i+1) * time.Minute)
			l.record(s.ctx, t, s.e)
		}
		minute := func(n int) time.Time { return start.Truncate(time.Millisecond).Add(time.Duration(n) * time.Minute) }
		for name, tc := range map[string]struct {
			filter activity.Filter
			want   string
		}{
			"all": {activity.Filter{}, "4 3 2 1"}, "action": {activity.Filter{Action: "key.created"}, "1"}, "actions on keys": {activity.Filter{Action: "key"}, "2 1"},
			"other case": {activity.Filter{Action: "KEY"}, ""}, "no pattern": {activity.Filter{Action: "%"}, ""}, "object": {activity.Filter{Object: "ci"}, "2 1"},
			"object's id": {activity.Filter{Object: "k1"}, "2 1"}, "not a pattern": {activity.Filter{Object: "100_"}, ""}, "literal": {activity.Filter{Object: "100%"}, "3"},
			"project": {activity.Filter{Project: "work"}, "4 2 1"}, "kind": {activity.Filter{Actor: "user"}, "3 1"}, "name": {activity.Filter{Actor: "root"}, "2"},
			"id": {activity.Filter{Actor: "u1"}, "3 1"}, "system": {activity.Filter{Actor: "system"}, "4"}, "since": {activity.Filter{Since: minute(3)}, "4 3"},
			"until": {activity.Filter{Until: minute(3)}, "2 1"}, "between, in another zone": {activity.Filter{Since: minute(2).In(time.FixedZone("x", 3600)), Until: minute(4)}, "3 2"},
			"together": {activity.Filter{Actor: "Ada", Action: "key", Object: "ci", Project: "work", Since: minute(0), Until: minute(9)}, "1"}, "quote": {activity.Filter{Object: "'; --"}, ""},
		} {
			t.Run(name, func(t *testing.T) {
				rows, next, err := l.List(t.Context(), tc.filter, 0, 10)
				if err != nil || next != 0 {
					t.Fatalf("List() next = %[2]d, %[1]v", err, next)
				}
				var got []string
				for _, row := range rows {
					got = append(got, fmt.Sprint(row.Seq))
				}
				if strings.Join(got, " ") != tc.want {
					t.Errorf("List() = %v, want %s", got, tc.want)
				}
			})
		}
	})
}

func TestListPagesAreStable(t *testing.T) {
	each(t, func(t *testing.T, l *log) {
		l.record(t.Context(), t, make([]activity.Entry, 5)...)
		var got []int64
		var before int64
		for page := 0; ; page++ {
			rows, next, err := l.List(t.Context(), activity.Filter{}, before, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				got = append(got, row.Seq)
			}
			l.record(t.Context(), t, activity.Entry{Action: "meanwhile"})
			if before = next; next == 0 {
				break
			}
		}
		if d := cmp.Diff([]int64{5, 4, 3, 2, 1}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if rows, next, err := l.List(t.Context(), activity.Filter{}, 3, 2); err != nil || len(rows) != 2 || next != 0 {
			t.Errorf("full last page: %d rows, next = %d, %v", len(rows), next, err)
		}
	})
}

func TestListLimit(t *testing.T) {
	l := newLog(modelstest.Open(t, modelstest.SQLite(t)))
	for limit, ok := range map[int]bool{-1: false, 0: false, 1: true, activity.MaxListed - 1: true, activity.MaxListed: true, activity.MaxListed + 1: false} {
		if _, _, err := l.List(t.Context(), activity.Filter{}, 0, limit); (err == nil) != ok {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	for n, ok := range map[int]bool{activity.MaxField - 1: true, activity.MaxField: true, activity.MaxField + 1: false} {
		if _, _, err := l.List(t.Context(), activity.Filter{Object: strings.Repeat("é", n)}, 0, 1); (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
	for _, text := range []string{"\x00", "\xff"} {
		if _, _, err := l.List(t.Context(), activity.Filter{Actor: text}, 0, 1); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Now returns the time of the test clock.
func (l *log) Now() time.Time { return l.at }
