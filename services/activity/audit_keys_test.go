package activity_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

const (
	oldKey = "old:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	newKey = "new:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
)

// keyed returns the audit log of the database with keys.
func keyed(t *testing.T, db *gorm.DB, keys string) *log {
	t.Helper()
	ring, err := secrets.ParseKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(db)
	l.Audit = activity.NewKeyedAudit(db, ring, l.Now)
	return l
}

// run executes statements in the caller's transaction.
func run(t *testing.T, tx *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if done := tx.Exec(statement); done.Error != nil || done.RowsAffected == 0 {
			t.Errorf("%s: %v", statement, done.Error)
		}
	}
}

// TestAuditMACsNeedKey changes a log like an attacker who can write to the
// database and compute hashes but has no key.
func TestAuditMACsNeedKey(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		plain, l := newLog(db), keyed(t, db, oldKey)
		plain.record(t.Context(), t, activity.Entry{Action: "a"}, activity.Entry{Action: "b"})
		if found, err := l.Verify(t.Context()); err != nil || found.Count != 2 || found.Keyed != 0 {
			t.Fatalf("log without MACs: %+v, %v", found, err)
		}
		l.record(t.Context(), t, activity.Entry{Action: "c"}, activity.Entry{Action: "d"}, activity.Entry{Action: "e"})
		found, err := l.Verify(t.Context())
		if err != nil || found.Count != 5 || found.Keyed != 3 {
			t.Fatalf("log continued with keys: %+v, %v", found, err)
		}
		cutTo := func(seq string) []string {
			return []string{"DELETE FROM audit_entries WHERE seq > " + seq,
				"UPDATE audit_heads SET seq = " + seq + ", hash = (SELECT hash FROM audit_entries WHERE seq = " + seq + ")"}
		}
		for _, tt := range []struct {
			name, want string
			statements []string
			write      bool // a row with a correct hash follows
			after      []string
		}{
			{"row after the last", "row 6 has no MAC", nil, true, nil},
			{"row with a made-up MAC", "row 6 was not written by the gateway", nil, true, []string{"UPDATE audit_entries SET key_id = 'old', mac = hash WHERE seq = 6"}},
			{"row with the MAC of another", "row 6 was not written by the gateway", nil, true, []string{"UPDATE audit_entries SET key_id = 'old', mac = (SELECT mac FROM audit_entries WHERE seq = 5) WHERE seq = 6"}},
			{"rewritten from row 4", "row 4 has no MAC", cutTo("3"), true, nil},
			{"truncated", "the MAC of its head is wrong, so rows after row 4 may be missing", cutTo("4"), false, nil},
			{"truncated, head without MAC", "the MAC of its head is wrong", cutTo("4"), false, []string{"UPDATE audit_heads SET key_id = '', mac = " + map[string]string{"sqlite": "x''", "postgres": "''"}[db.Name()]}},
			{"code removed", "row 4 has no MAC", []string{"UPDATE audit_entries SET key_id = '' WHERE seq = 4"}, false, nil},
			{"all codes removed", "row 6 was changed", []string{"UPDATE audit_entries SET key_id = ''"}, true, []string{"UPDATE audit_entries SET action = 'z' WHERE seq = 6"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				tx := db.Begin()
				defer tx.Rollback()
				run(t, tx, tt.statements...)
				if tt.write {
					if err := activity.NewAudit(tx, l.Now).Record(tx, activity.Entry{Action: "forged"}); err != nil {
						t.Fatal(err)
					}
				}
				run(t, tx, tt.after...)
				if _, err := keyed(t, tx, oldKey).Verify(t.Context()); !errors.Is(err, activity.ErrTampered) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Verify() = %v, want %q", err, tt.want)
				}
			})
		}
		if after, err := l.Verify(t.Context()); err != nil || after != found {
			t.Errorf("log still changed: %+v, %v", after, err)
		}
	})
}

func TestAuditMACsSurviveRotation(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		newLog(db).record(t.Context(), t, activity.Entry{Action: "before codes"})
		keyed(t, db, oldKey).record(t.Context(), t, make([]activity.Entry, 1001)...) // more than a page
		both, after := keyed(t, db, newKey+","+oldKey), keyed(t, db, newKey)
		both.record(t.Context(), t, activity.Entry{Action: "new"})
		found, err := both.Verify(t.Context())
		if err != nil || found.Keyed != 1002 {
			t.Fatalf("with both keys: %+v, %v", found, err)
		}
		if _, err := after.Verify(t.Context()); errors.Is(err, activity.ErrTampered) || !fault.Is(err, fault.CodeInternal) || !strings.Contains(err.Error(), `Key "old" is not in GATEWAY_SECRETS_KEYS.`) {
			t.Errorf("without the old key: %v", err)
		}
		tx := db.Begin()
		run(t, tx, "UPDATE audit_entries SET action = 'edited' WHERE seq = 500")
		if _, err := keyed(t, tx, newKey+","+oldKey).Rekey(t.Context()); !errors.Is(err, activity.ErrTampered) {
			t.Errorf("Rekey() of a changed log = %v", err)
		}
		tx.Rollback()
		for _, want := range []int{1001, 0} {
			if n, err := both.Rekey(t.Context()); err != nil || n != want {
				t.Errorf("Rekey() = %d, want %d (%v)", n, want, err)
			}
		}
		if got, err := after.Verify(t.Context()); err != nil || got != found {
			t.Errorf("with only the new key: %+v, %v", got, err)
		}
		var left int64
		if err := db.Model(&models.AuditEntry{}).Where("key_id = 'old'").Count(&left).Error; err != nil || left != 0 {
			t.Errorf("%d rows have a MAC of the old key (%v)", left, err)
		}
	})
}
