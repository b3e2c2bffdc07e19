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
			t.Errorf("created %+v", row)
		}
		if string(row.Hash) != string(accesstest.SHA256(key)) {
			t.Error("the hash is not the SHA-256 of the whole key")
		}
		if shown := fmt.Sprintf("%+v %v %#v", row, text, text); strings.Contains(shown, key) {
			t.Errorf("the key prints: %s", shown)
		}
		stored, err := w.Keys.Get(t.Context(), row.ID)
		if err != nil || stored.Prefix != key[:8] || !stored.ExpiresAt.Equal(*row.ExpiresAt) || stored.RevokedAt != nil || stored.LastUsedAt != nil {
			t.Errorf("stored %+v, %v", stored, err)
		}
		if !w.Admits(t, key) || w.AdmitsTo(t, "q", key) {
			t.Error("the key does not open its own project alone")
		}
	})
}

func TestKeysAreListedNewestFirst(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		var ids []string
		for i := range 3 {
			id, _ := w.Create(t, 0)
			ids = append([]string{id}, ids...)
			if i > 0 { // the last two are of one moment
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
				t.Errorf("key %d is %s, want %s", i, row.ID, ids[i])
			}
		}
		if rows, err := w.Keys.List(t.Context(), "q"); err != nil || len(rows) != 0 {
			t.Errorf("the other project has %d keys, %v", len(rows), err)
		}
	})
}

func TestKeyAttributesAreBounded(t *testing.T) {
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
		{"a lifetime of a moment", "x", time.Millisecond, ""},
		{"a negative lifetime", "x", -1, "expires"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, text, err := w.Keys.Create(t.Context(), "p", tc.given, tc.lifetime)
			if tc.field == "" {
				if err != nil || !w.Admits(t, text.Reveal()) {
					t.Errorf("refused: %v", err)
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

func TestKeyEndsWithItsLifetime(t *testing.T) {
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
				t.Errorf("after %s: valid is %v", tc.age, got)
			}
		}
		w.Advance(100 * 365 * 24 * time.Hour)
		if !w.Admits(t, forever) {
			t.Error("a key without an end ended")
		}
	})
}

func TestKeyRotate(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		t.Run("without grace the old key ends at once", func(t *testing.T) {
			id, old := w.Create(t, 0)
			next, key := w.Rotate(t, id, 0)
			if w.Admits(t, old) || !w.Admits(t, key) || next == id || key == old {
				t.Error("the old key works on, or the new one does not")
			}
			row, err := w.Keys.Get(t.Context(), id)
			if err != nil || row.RevokedAt == nil || !row.RevokedAt.Equal(w.Now()) {
				t.Errorf("the old key is stored as %+v, %v", row, err)
			}
		})
		for _, grace := range []time.Duration{time.Millisecond, time.Hour, keys.MaxGrace} {
			t.Run("both work during a grace of "+grace.String(), func(t *testing.T) {
				id, old := w.Create(t, 0)
				start := w.Now()
				_, key := w.Rotate(t, id, grace)
				for _, tc := range []struct {
					after time.Duration
					valid bool
				}{{0, true}, {grace - time.Millisecond, true}, {grace, false}, {grace + time.Millisecond, false}} {
					w.Set(start.Add(tc.after))
					if got := w.Admits(t, old); got != tc.valid {
						t.Errorf("the old key %s after the rotation: valid is %v", tc.after, got)
					}
					if !w.Admits(t, key) {
						t.Errorf("the new key is refused %s after the rotation", tc.after)
					}
				}
			})
		}
		t.Run("a grace does not outlast the key's own end", func(t *testing.T) {
			id, old := w.Create(t, time.Minute)
			w.Rotate(t, id, time.Hour)
			w.Advance(time.Minute)
			if w.Admits(t, old) {
				t.Error("the old key outlived itself")
			}
		})
		t.Run("the successor lives as long as the old key was given", func(t *testing.T) {
			row, _, err := w.Keys.Create(t.Context(), "p", "named", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			w.Advance(59 * time.Minute)
			next, _, err := w.Keys.Rotate(t.Context(), "p", row.ID, 0)
			if err != nil || next.Name != "named" || !next.ExpiresAt.Equal(w.Now().Add(time.Hour)) {
				t.Errorf("the successor is %+v, %v", next, err)
			}
		})
		t.Run("bounds of the grace", func(t *testing.T) {
			id, old := w.Create(t, 0)
			for _, grace := range []time.Duration{-1, keys.MaxGrace + 1} {
				_, _, err := w.Keys.Rotate(t.Context(), "p", id, grace)
				if f := accesstest.Want(t, err, fault.CodeValidationFailed); f.Fields["grace"] == "" {
					t.Errorf("fields %v", f.Fields)
				}
			}
			if !w.Admits(t, old) {
				t.Error("a refused rotation ended the key")
			}
		})
		t.Run("what cannot be rotated", func(t *testing.T) {
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
					t.Error("a refused rotation gave a key")
				}
			}
		})
	})
}

func TestKeyHasOneSuccessorOnly(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		for range 5 { // the first rounds also open the connections
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
				t.Errorf("%d of the racing rotations gave a key, want 1", admitted)
			}
		}
	})
}

func TestRevokedKeyIsRefusedAtOnce(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		_, other := w.Create(t, 0)
		if !w.Admits(t, key) {
			t.Fatal("the key is refused")
		}
		accesstest.Want(t, w.Keys.Revoke(t.Context(), "q", id), fault.CodeNotFound)
		accesstest.Want(t, w.Keys.Revoke(t.Context(), "p", "unknown"), fault.CodeNotFound)
		if !w.Admits(t, key) {
			t.Fatal("a refused revocation ended the key")
		}
		if err := w.Keys.Revoke(t.Context(), "p", id); err != nil || w.Admits(t, key) || !w.Admits(t, other) {
			t.Fatalf("after the revocation: %v", err)
		}
		when := w.Now()
		w.Advance(time.Hour)
		if err := w.Keys.Revoke(t.Context(), "p", id); err != nil {
			t.Errorf("a second revocation: %v", err)
		}
		if row, err := w.Keys.Get(t.Context(), id); err != nil || !row.RevokedAt.Equal(when) {
			t.Errorf("revoked at %v, want %v; %v", row.RevokedAt, when, err)
		}
		_, err := w.Keys.Get(t.Context(), "unknown")
		accesstest.Want(t, err, fault.CodeNotFound)
	})
}

func TestUsableKeysAreBounded(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		// Ended keys do not count, so twice the bound may be stored.
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
			t.Error("a refused rotation ended the key")
		}
		if _, _, err := w.Keys.Create(t.Context(), "q", "", 0); err != nil {
			t.Errorf("another project is bounded too: %v", err)
		}
		last, _ = w.Rotate(t, last, 0) // the number stays
		if err := w.Keys.Revoke(t.Context(), "p", last); err != nil {
			t.Fatal(err)
		}
		w.Create(t, 0)
	})
}

func TestRacingCreationsKeepTheBound(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		rows := make([]models.Key, 0, keys.Max)
		for i := range keys.Max - 1 {
			rows = append(rows, models.Key{ID: fmt.Sprint(i), ProjectID: "p", Hash: accesstest.SHA256(fmt.Sprint(i)), CreatedAt: w.Now()})
		}
		if err := w.DB.CreateInBatches(rows, 500).Error; err != nil {
			t.Fatal(err)
		}
		for range 5 { // the first rounds also open the connections
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
				t.Errorf("%d keys were created in the room for 1", created)
			}
		}
	})
}

// broken is a feed that cannot tell anybody.
type broken struct{}

var errBroken = errors.New("nobody hears")

func (broken) Published(context.Context, ...notify.Topic) error { return errBroken }

func TestUnheardChangeIsAnError(t *testing.T) {
	w := accesstest.OnSQLite(t)
	keys := keys.New(w.DB, activity.NewAudit(w.DB, w.Now), broken{}, w.Now)
	if _, _, err := keys.Create(t.Context(), "p", "", 0); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	id, key := w.Create(t, 0)
	if err := keys.Revoke(t.Context(), "p", id); !errors.Is(err, errBroken) {
		t.Errorf("a revocation that this process has not heard of was answered with %v", err)
	}
	if !w.Admits(t, key) {
		t.Error("the index heard of it all the same, so this test proves nothing")
	}
}
