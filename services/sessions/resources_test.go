package sessions_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/sessions"
)

func TestResources(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r := sessions.NewResources(db, feed, func() time.Time { return now })
		of := func(session string, want ...string) {
			t.Helper()
			project, uris, err := r.Of(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, uris); diff != "" || len(want) > 0 && project != "p" {
				t.Errorf("%s in %q (-want +got):\n%s", session, project, diff)
			}
		}
		long := "file:///" + strings.Repeat("x", 8<<10)
		for i := range sessions.MaxResources - 1 {
			if err := r.Add(t.Context(), "full", "p", fmt.Sprint("test://", i)); err != nil {
				t.Fatal(err)
			}
		}
		for _, uri := range []string{"test://last", "test://last"} { // duplicates count once
			if err := r.Add(t.Context(), "full", "p", uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Add(t.Context(), "full", "p", "test://more"); !fault.Is(err, fault.CodeRateLimited) {
			t.Errorf("beyond the limit: %v", err)
		}
		for _, uri := range []string{"test://a", long} {
			now = now.Add(time.Second)
			if err := r.Add(t.Context(), "s", "p", uri); err != nil {
				t.Fatal(err)
			}
		}
		of("s", "test://a", long)
		of("unknown")
		if err := r.Remove(t.Context(), "s", "test://a"); err != nil {
			t.Fatal(err)
		}
		of("s", long)
		if err := r.End(t.Context(), "full"); err != nil {
			t.Fatal(err)
		}
		of("full")
		now = now.Add(sessions.Lifetime)
		of("s")
		if err := r.Add(t.Context(), "later", "p", "test://a"); err != nil {
			t.Fatal(err)
		}
		var rows int64
		if err := db.Model(&models.SessionResource{}).Count(&rows).Error; err != nil || rows != 1 {
			t.Errorf("%d rows after the sweep, %v", rows, err)
		}
	})
}
