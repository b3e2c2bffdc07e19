package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

func TestCreatedKeyIsStoredAsHashOnly(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		row, text, err := w.Keys.Create(t.Context(), "p", "  laptop\u00e9 ", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		key := text.Reveal()
		if row.Name != "laptopé" || row.Prefix != key[:8] || !row.CreatedAt.Equal(w.Now()) || !row.ExpiresAt.Equal(w.Now().Add(time.Hour)) {
			t.Errorf("Create() = %+v", row)
		}
		if string(row.Hash) != string(accesstest.SHA256(key)) {
			t.Error("hash isn't the SHA-256 of the whole key")
		}
		if shown := fmt.Sprintf("%+v %v %#v", row, text, text); strings.Contains(shown, key) {
			t.Errorf("key is printed: %s", shown)
		}
		stored, err := w.Keys.Get(t.Context(), row.ID)
		if err != nil || stored.Prefix != key[:8] || !stored.ExpiresAt.Equal(*row.ExpiresAt) || stored.RevokedAt != nil || stored.LastUsedAt != nil {
			t.Errorf("stored key = %+v, %v", stored, err)
		}
		if !w.Admits(t, key) || w.AdmitsTo(t, "q", key) {
			t.Error("key isn't valid for exactly its project")
		}
	})
}

func TestKeysAreListedNewestFirst(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		var ids []string
		for i := range 3 {
			id, _ := w.Create(t, 0)
			ids = append([]string{id}, ids...)
			if i > 0 { // the last two have the same time
				w.Advance(0)
				continue
			}
			w.Advance(time.Second)
		}
		rows, err := w.Keys.List(t.Context(), "p")
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d keys, %v", len(rows), err)
		}
		for i, row := range rows {
			if row.ID != ids[i] {
				t.Errorf("key %d = %s, want %s", i, row.ID, ids[i])
			}
		}
		if rows, err := w.Keys.List(t.Context(), "q"); err != nil || len(rows) != 0 {
			t.Errorf("other project has %d keys, %v", len(rows), err)
		}
	})
}

func TestKeyAttributeLimits(t *testing.T) {
	w := accesstest.OnSQLite(t)
	for _, tc := range []struct {
		name, given string
		lifetime    time.Duration
		field       string
	}{
		{"99 characters", strings.Repeat("é", 99), 0, ""},
		{"100 characters", strings.Repeat("é", 100), 0, ""},
		{"101 characters", strings.Repeat("é", 101), 0, "name"},
		{"100 characters and blanks", " " + strings.Repeat("x", 100) + " ", 0, ""},
		{"no name", "", 0, ""},
		{"newline", "a\nb", 0, "name"},
		{"delete", "a\x7fb", 0, "name"},
		{"null", "a\x00b", 0, "name"},
		{"minimum lifetime", "x", time.Millisecond, ""},
		{"negative lifetime", "x", -1, "expires"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, text, err := w.Keys.Create(t.Context(), "p", tc.given, tc.lifetime)
			if tc.field == "" {
				if err != nil || !w.Admits(t, text.Reveal()) {
					t.Errorf("error %v", err)
				}
				return
			}
			f := accesstest.Want(t, err, fault.CodeValidationFailed)
			if f.Fields[tc.field] == "" || len(f.Fields) != 1 || !text.IsZero() {
				t.Errorf("fields %v", f.Fields)
			}
		})
	}
	_, _, err := w.Keys.Create(t.Context(), "nowhere", "x", 0)
	accesstest.Want(t, err, fault.CodeNotFound)
}

func TestKeyExpiry(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		const lifetime = time.Hour
		born := w.Now()
		_, key := w.Create(t, lifetime)
		_, forever := w.Create(t, 0)
		for _, tc := range []struct {
			age   time.Duration
			valid bool
		}{{0, true}, {lifetime - time.Millisecond, true}, {lifetime, false}, {lifetime + time.Millisecond, false}} {
			w.Set(born.Add(tc.age))
			if got := w.Admits(t, key); got != tc.valid {
				t.Errorf("after %s: valid = %v", tc.age, got)
			}
		}
		w.Advance(100 * 365 * 24 * time.Hour)
		if !w.Admits(t, forever) {
			t.Error("key without expiry expired")
		}
	})
}

func TestKeyRotate(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		t.Run("without grace", func(t *testing.T) {
			id, old := w.Create(t, 0)
			next, key := w.Rotate(t, id, 0)
			if w.Admits(t, old) || !w.Admits(t, key) || next == id || key == old {
				t.Error("old key valid or new key invalid")
			}
			row, err := w.Keys.Get(t.Context(), id)
			if err != nil || row.RevokedAt == nil || !row.RevokedAt.Equal(w.Now()) {
				t.Errorf("old key = %+v, %v", row, err)
			}
		})
		for _, grace := range []time.Duration{time.Millisecond, time.Hour, keys.MaxGrace} {
			t.Run("grace of "+grace.String(), func(t *testing.T) {
				id, old := w.Create(t, 0)
				start := w.Now()
				_, key := w.Rotate(t, id, grace)
				for _, tc := range []struct {
					after time.Duration
					valid bool
				}{{0, true}, {grace - time.Millisecond, true}, {grace, false}, {grace + time.Millisecond, false}} {
					w.Set(start.Add(tc.after))
					if got := w.Admits(t, old); got != tc.valid {
						t.Errorf("old key %s after the rotation: valid = %v", tc.after, got)
					}
					if !w.Admits(t, key) {
						t.Errorf("new key rejected %s after the rotation", tc.after)
					}
				}
			})
		}
		t.Run("grace beyond expiry", func(t *testing.T) {
			id, old := w.Create(t, time.Minute)
			w.Rotate(t, id, time.Hour)
			w.Advance(time.Minute)
			if w.Admits(t, old) {
				t.Error("old key valid after its expiry")
			}
		})
		t.Run("successor lifetime", func(t *testing.T) {
			row, _, err := w.Keys.Create(t.Context(), "p", "named", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			w.Advance(59 * time.Minute)
			next, _, err := w.Keys.Rotate(t.Context(), "p", row.ID, 0)
			if err != nil || next.Name != "named" || !next.ExpiresAt.Equal(w.Now().Add(time.Hour)) {
				t.Errorf("successor = %+v, %v", next, err)
			}
		})
		t.Run("grace limits", func(t *testing.T) {
			id, old := w.Create(t, 0)
			for _, grace := range []time.Duration{-1, keys.MaxGrace + 1} {
				_, _, err := w.Keys.Rotate(t.Context(), "p", id, grace)
				if f := accesstest.Want(t, err, fault.CodeValidationFailed); f.Fields["grace"] == "" {
					t.Errorf("fields %v", f.Fields)
				}
			}
			if !w.Admits(t, old) {
				t.Error("rejected rotation revoked the key")
			}
		})
		t.Run("invalid keys", func(t *testing.T) {
			ended, _ := w.Create(t, time.Minute)
			w.Advance(time.Minute)
			revoked, _ := w.Create(t, 0)
			if err := w.Keys.Revoke(t.Context(), "p", revoked); err != nil {
				t.Fatal(err)
			}
			foreign, _ := w.Create(t, 0)
			for _, tc := range []struct {
				project, id string
				code        fault.Code
			}{
				{"p", ended, fault.CodeConflict}, {"p", revoked, fault.CodeConflict},
				{"p", "unknown", fault.CodeNotFound}, {"q", foreign, fault.CodeNotFound}, {"nowhere", foreign, fault.CodeNotFound},
			} {
				_, text, err := w.Keys.Rotate(t.Context(), tc.project, tc.id, time.Hour)
				accesstest.Want(t, err, tc.code)
				if !text.IsZero() {
					t.Error("rejected rotation returned a key")
				}
			}
		})
	})
}

func TestKeyHasOneSuccessor(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		for range 5 { // the first rounds also open connections
			id, old := w.Create(t, 0)
			var rotating sync.WaitGroup
			keys, errs := make([]secrets.Value, 8), make([]error, 8)
			for i := range keys {
				rotating.Go(func() { _, keys[i], errs[i] = w.Keys.Rotate(context.Background(), "p", id, 0) })
			}
			rotating.Wait()
			admitted := 0
			for i, err := range errs {
				if err == nil && w.Admits(t, keys[i].Reveal()) {
					admitted++
					continue
				}
				accesstest.Want(t, err, fault.CodeConflict)
			}
			if admitted != 1 || w.Admits(t, old) {
				t.Errorf("%d concurrent rotations succeeded, want 1", admitted)
			}
		}
	})
}

func TestRevokedKeyIsRejectedImmediately(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		_, other := w.Create(t, 0)
		if !w.Admits(t, key) {
			t.Fatal("key rejected")
		}
		accesstest.Want(t, w.Keys.Revoke(t.Context(), "q", id), fault.CodeNotFound)
		accesstest.Want(t, w.Keys.Revoke(t.Context(), "p", "unknown"), fault.CodeNotFound)
		if !w.Admits(t, key) {
			t.Fatal("rejected revocation revoked the key")
		}
		if err := w.Keys.Revoke(t.Context(), "p", id); err != nil || w.Admits(t, key) || !w.Admits(t, other) {
			t.Fatalf("after revocation: %v", err)
		}
		when := w.Now()
		w.Advance(time.Hour)
		if err := w.Keys.Revoke(t.Context(), "p", id); err != nil {
			t.Errorf("second revocation: %v", err)
		}
		if row, err := w.Keys.Get(t.Context(), id); err != nil || !row.RevokedAt.Equal(when) {
			t.Errorf("revoked at %v, want %v; %v", row.RevokedAt, when, err)
		}
		_, err := w.Keys.Get(t.Context(), "unknown")
		accesstest.Want(t, err, fault.CodeNotFound)
	})
}

func TestUsableKeyLimit(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		// Expired keys don't count, so twice the maximum may be stored.
		rows := make([]models.Key, 0, 2*keys.Max)
		ended := w.Now().Add(-time.Second)
		for i := range keys.Max - 2 {
			rows = append(rows,
				models.Key{ID: fmt.Sprintf("usable%d", i), ProjectID: "p", Hash: accesstest.SHA256(fmt.Sprint("u", i)), CreatedAt: w.Now()},
				models.Key{ID: fmt.Sprintf("expired%d", i), ProjectID: "p", Hash: accesstest.SHA256(fmt.Sprint("e", i)), CreatedAt: w.Now(), ExpiresAt: &ended},
				models.Key{ID: fmt.Sprintf("revoked%d", i), ProjectID: "p", Hash: accesstest.SHA256(fmt.Sprint("r", i)), CreatedAt: w.Now(), RevokedAt: &ended})
		}
		if err := w.DB.CreateInBatches(rows, 500).Error; err != nil {
			t.Fatal(err)
		}
		w.Create(t, 0)               // n-1
		last, text := w.Create(t, 0) // n
		_, _, err := w.Keys.Create(t.Context(), "p", "", 0)
		accesstest.Want(t, err, fault.CodeConflict)
		_, _, err = w.Keys.Rotate(t.Context(), "p", last, time.Hour)
		accesstest.Want(t, err, fault.CodeConflict)
		if !w.Admits(t, text) {
			t.Error("rejected rotation revoked the key")
		}
		if _, _, err := w.Keys.Create(t.Context(), "q", "", 0); err != nil {
			t.Errorf("other project: %v", err)
		}
		last, _ = w.Rotate(t, last, 0) // same number of keys
		if err := w.Keys.Revoke(t.Context(), "p", last); err != nil {
			t.Fatal(err)
		}
		w.Create(t, 0)
	})
}

func TestConcurrentCreationsKeepLimit(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		rows := make([]models.Key, 0, keys.Max)
		for i := range keys.Max - 1 {
			rows = append(rows, models.Key{ID: fmt.Sprint(i), ProjectID: "p", Hash: accesstest.SHA256(fmt.Sprint(i)), CreatedAt: w.Now()})
		}
		if err := w.DB.CreateInBatches(rows, 500).Error; err != nil {
			t.Fatal(err)
		}
		for range 5 { // the first rounds also open connections
			rows, errs := make([]models.Key, 6), make([]error, 6)
			var creating sync.WaitGroup
			for i := range errs {
				creating.Go(func() { rows[i], _, errs[i] = w.Keys.Create(context.Background(), "p", "", 0) })
			}
			creating.Wait()
			created := 0
			for i, err := range errs {
				if err != nil {
					accesstest.Want(t, err, fault.CodeConflict)
					continue
				}
				created++
				if err := w.Keys.Revoke(t.Context(), "p", rows[i].ID); err != nil {
					t.Fatal(err)
				}
			}
			if created != 1 {
				t.Errorf("%d keys created, want 1", created)
			}
		}
	})
}

// broken is a feed whose notifications fail.
type broken struct{}

var errBroken = errors.New("nobody hears")

func (broken) Publish(context.Context, ...notify.Topic) error { return errBroken }

func TestFailedNotificationIsError(t *testing.T) {
	w := accesstest.OnSQLite(t)
	keys := keys.New(w.DB, activity.NewAudit(w.DB, w.Now), broken{}, w.Now)
	if _, _, err := keys.Create(t.Context(), "p", "", 0); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	id, key := w.Create(t, 0)
	if err := keys.Revoke(t.Context(), "p", id); !errors.Is(err, errBroken) {
		t.Errorf("Revoke() with a failing feed = %v", err)
	}
	if !w.Admits(t, key) {
		t.Error("index was notified despite the failing feed")
	}
}
