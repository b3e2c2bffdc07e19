package registries_test

import (
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
)

func TestKeyAttributes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			key  registries.NewKey
			code fault.Code
		}{
			{registries.NewKey{Name: "a"}, ""},
			{registries.NewKey{Name: strings.Repeat("ä", 99)}, ""},
			{registries.NewKey{Name: strings.Repeat("ä", 100)}, ""},
			{registries.NewKey{Name: strings.Repeat("ä", 101)}, fault.CodeValidationFailed},
			{registries.NewKey{Name: " "}, fault.CodeValidationFailed},
			{registries.NewKey{Name: "a\tb"}, fault.CodeValidationFailed},
			{registries.NewKey{Name: "a", Lifetime: -1}, fault.CodeValidationFailed},
			{registries.NewKey{Name: "a", Lifetime: time.Second - 1}, fault.CodeValidationFailed},
			{registries.NewKey{Name: "a", Lifetime: time.Second}, ""},
		} {
			_, text, err := w.CreateKey(t.Context(), tc.key)
			want(t, tc.key.Name, err, tc.code)
			if (text.Reveal() != "") != (tc.code == "") {
				t.Errorf("%+v has a text: %v", tc.key, text.Reveal() != "")
			}
		}
	})
}

func TestKeyLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		past := w.now.Add(-time.Second)
		insert(t, w, registries.MaxKeys+3, func(i int) models.CatalogKey {
			row := models.CatalogKey{ID: id(i), Name: id(i), Hash: []byte(id(i)), Prefix: "gwr_", CreatedAt: w.now}
			switch i { // all but 998 are unusable
			case 0, 1:
				row.RevokedAt = &past
			case 2, 3:
				row.ExpiresAt = &past
			case 4:
				row.ExpiresAt = &w.now
			}
			return row
		})
		for i, code := range []fault.Code{"", "", fault.CodeConflict} {
			_, _, err := w.CreateKey(t.Context(), registries.NewKey{Name: id(i)})
			want(t, id(i), err, code)
		}
		want(t, "revoke", w.RevokeKey(t.Context(), id(5)), "")
		_, _, err := w.CreateKey(t.Context(), registries.NewKey{Name: "next"})
		want(t, "after a revocation", err, "")
	})
}

func TestAuthenticate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		row, text, err := w.CreateKey(t.Context(), registries.NewKey{Name: "editors", Lifetime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		_, forever, err := w.CreateKey(t.Context(), registries.NewKey{Name: "forever"})
		if err != nil {
			t.Fatal(err)
		}
		used := func() *time.Time {
			t.Helper()
			stored, err := w.Key(t.Context(), row.ID)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(stored.Hash), text.Reveal()) || stored.Prefix != text.Reveal()[:8] {
				t.Errorf("stored %+v", stored)
			}
			return stored.LastUsedAt
		}
		if at := used(); at != nil {
			t.Errorf("a new key was used at %v", at)
		}
		created := w.now
		for _, step := range []struct {
			after, used time.Duration
			code        fault.Code
		}{
			{0, 0, ""}, {time.Minute - 1, 0, ""}, {time.Minute, time.Minute, ""}, {time.Hour - time.Millisecond, time.Hour - time.Millisecond, ""},
			{time.Hour, time.Hour - time.Millisecond, fault.CodeUnauthorized},
		} {
			w.now = created.Add(step.after)
			want(t, step.after.String(), w.Authenticate(t.Context(), text.Reveal()), step.code)
			if at := used(); at == nil || !at.Equal(created.Add(step.used)) {
				t.Errorf("after %v: used at %v, want %v", step.after, at, step.used)
			}
		}
		for _, wrong := range []string{"", "gwr_", text.Reveal() + "x", text.Reveal()[:len(text.Reveal())-1], strings.ToUpper(forever.Reveal()), " " + forever.Reveal()} {
			want(t, wrong, w.Authenticate(t.Context(), wrong), fault.CodeUnauthorized)
		}
		want(t, "without end", w.Authenticate(t.Context(), forever.Reveal()), "")
		rows, err := w.Keys(t.Context())
		if err != nil || len(rows) != 2 || rows[0].Name != "forever" {
			t.Fatalf("%+v (%v)", rows, err)
		}
		want(t, "revoke", w.RevokeKey(t.Context(), rows[0].ID), "")
		want(t, "revoke again", w.RevokeKey(t.Context(), rows[0].ID), "")
		want(t, "revoke unknown", w.RevokeKey(t.Context(), "none"), fault.CodeNotFound)
		want(t, "revoked", w.Authenticate(t.Context(), forever.Reveal()), fault.CodeUnauthorized)
		w.audited(t, "catalog.key_created", "catalog.key_created", "catalog.key_revoked")
	})
}
