package health_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/health"
	"mcpgateway/services/upstream/upstreamtest"
)

// down is a fault of a server that does not work.
var down = upstreamtest.Fault{Kind: upstreamtest.Status, Status: 500}

func (w *world) step(t *testing.T, want time.Duration) {
	t.Helper()
	got, err := w.Step(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the next step is after %v, want %v", got, want)
	}
}

// checked returns the ids of the rows with a check, those checked first before
// the others.
func (w *world) checked(t *testing.T) (ids []string) {
	t.Helper()
	if err := w.db.Model(&models.CatalogCheck{}).Order("checked_at").Pluck("entry_id", &ids).Error; err != nil {
		t.Fatal(err)
	}
	return ids
}

// listed returns the names of the first page of a listing.
func (w *world) listed(t *testing.T, v catalog.View) (names []string) {
	t.Helper()
	v.Limit = 100
	found, err := w.catalog.Browse(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found.Rows {
		names = append(names, e.ServerName)
	}
	return names
}

func TestDailyChecks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.step(t, time.Minute) // an empty catalog
		server, address := mock(t, upstreamtest.Options{})
		for i := range 4 {
			w.add(t, fmt.Sprint("row", i), address)
		}
		w.add(t, "hidden", address, func(e *models.CatalogEntry) { e.Hidden = true })
		w.add(t, "deleted", address, func(e *models.CatalogEntry) { e.Status = models.CatalogDeleted })
		w.add(t, "program", "", func(e *models.CatalogEntry) { e.ServerType = "stdio" })
		for i := range 4 {
			w.step(t, 6*time.Hour)
			if got := w.checked(t); len(got) != i+1 || got[i] != fmt.Sprint("row", i) {
				t.Errorf("after %d steps: %v", i+1, got)
			}
			w.advance(6 * time.Hour)
		}
		// Every server was checked within the day; the first is due again now.
		server.ForgetRequests()
		w.advance(-time.Millisecond)
		w.step(t, time.Minute)
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%d requests before a day has passed", n)
		}
		w.advance(time.Millisecond)
		w.step(t, 6*time.Hour)
		if got := w.checked(t); !slices.Equal(got, []string{"row1", "row2", "row3", "row0"}) {
			t.Errorf("after a day: %v", got)
		}
	})
}

func TestNewRowsAreCheckedFirst(t *testing.T) {
	w := onSQLite(t)
	_, address := mock(t, upstreamtest.Options{})
	w.add(t, "z", address)
	w.step(t, 24*time.Hour)
	w.add(t, "a", address)
	w.advance(time.Second)
	w.step(t, 12*time.Hour)
	if got := w.checked(t); !slices.Equal(got, []string{"z", "a"}) {
		t.Errorf("checked %v", got)
	}
}

func TestPause(t *testing.T) {
	for servers, want := range map[int]time.Duration{
		1: 24 * time.Hour, 2: 12 * time.Hour, 43_200: 2 * time.Second, 86_399: time.Second + 11_574*time.Nanosecond, 86_400: time.Second, 86_401: time.Second, 200_000: time.Second,
	} {
		if got := health.PauseOf(servers); got != want {
			t.Errorf("PauseOf(%d) = %v, want %v", servers, got, want)
		}
	}
}

// TestChecksAreAnnouncedOnceAMinute reads when the process loads the catalog.
func TestChecksAreAnnouncedOnceAMinute(t *testing.T) {
	w := onSQLite(t)
	_, address := mock(t, upstreamtest.Options{})
	for i := range 4 {
		w.add(t, fmt.Sprint("row", i), address)
	}
	visible := func() (n int) {
		for i := range 4 {
			if _, ok := w.catalog.Check(fmt.Sprint("row", i)); ok {
				n++
			}
		}
		return n
	}
	for i, tt := range []struct {
		pause time.Duration
		want  int
	}{{0, 1}, {time.Minute - time.Millisecond, 1}, {time.Millisecond, 3}, {time.Millisecond, 3}} {
		w.advance(tt.pause)
		w.step(t, 6*time.Hour)
		if got := visible(); got != tt.want {
			t.Errorf("step %d: %d checks are visible, want %d", i, got, tt.want)
		}
	}
	w.advance(time.Minute)
	w.step(t, time.Minute) // nothing is due
	if got := visible(); got != 4 {
		t.Errorf("a minute later: %d checks are visible, want 4", got)
	}
}

func TestRunEnds(t *testing.T) {
	w := onSQLite(t)
	server, address := mock(t, upstreamtest.Options{}, upstreamtest.Fault{Kind: upstreamtest.Hang})
	w.add(t, "row", address)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	if err := server.Wait(t.Context(), func() bool { return server.Stats().Requests > 0 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if got := w.checked(t); len(got) != 0 || w.log.Len() != 0 {
		t.Errorf("checked %v: %s", got, &w.log)
	}
}

func TestFailingServersSink(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		sinks bool
	}{{7*24*time.Hour - time.Millisecond, false}, {7 * 24 * time.Hour, true}, {7*24*time.Hour + time.Millisecond, true}} {
		t.Run(tt.after.String(), func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				_, broken := mock(t, upstreamtest.Options{}, down)
				server, address := mock(t, upstreamtest.Options{})
				w.add(t, "a-broken", broken, func(e *models.CatalogEntry) { e.Featured, e.Tags = true, models.StringList{"crm"} })
				w.add(t, "b-works", address, func(e *models.CatalogEntry) { e.Description = "a-broken" })
				w.add(t, "c-broken-too", address, func(e *models.CatalogEntry) { e.Tags = models.StringList{"crm"} })
				first := w.check(t, "a-broken")
				w.check(t, "b-works")
				w.advance(tt.after)
				server.SetFault(down)
				w.check(t, "c-broken-too") // for the first time
				last := w.check(t, "a-broken")
				if !last.FailingSince.Equal(first.CheckedAt) || last.Sinks() != tt.sinks {
					t.Errorf("failing since %v, sinks = %t", last.FailingSince, last.Sinks())
				}
				usual, sunk := []string{"a-broken", "b-works", "c-broken-too"}, []string{"b-works", "c-broken-too", "a-broken"}
				want := usual
				if tt.sinks {
					want = sunk
				}
				if got := w.listed(t, catalog.View{}); !slices.Equal(got, want) {
					t.Errorf("listed %v, want %v", got, want)
				}
				// Equal relevance: both have the tag. A better match stays first.
				if got := w.listed(t, catalog.View{Text: "crm"}); !slices.Equal(got, slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == "b-works" })) {
					t.Errorf("listed %v for a tag", got)
				}
				if got := w.listed(t, catalog.View{Text: "a-broken"}); !slices.Equal(got, []string{"a-broken", "b-works"}) {
					t.Errorf("listed %v by relevance", got)
				}
				if got := w.listed(t, catalog.View{Sort: catalog.SortName}); !slices.Equal(got, usual) {
					t.Errorf("listed %v by name", got)
				}
				found, err := w.catalog.Entries(t.Context(), catalog.Search{Limit: 10})
				if err != nil || found.Rows[0].ServerName != "a-broken" {
					t.Errorf("the API lists %v first, %v", found.Rows[0].ServerName, err)
				}
			})
		})
	}
}

func TestRecovery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tools, want := openTools()
		server, address := mock(t, upstreamtest.Options{Tools: tools, Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
		w.add(t, "row", address)
		w.check(t, "row")
		server.SetFault(down)
		for range 9 {
			w.advance(24 * time.Hour)
			check := w.check(t, "row")
			if check.Revision != "2025-11-25" || cmp.Diff(want, check.Tools) != "" {
				t.Fatalf("a failed check lost what was found before: %+v", check)
			}
		}
		if check, _ := w.catalog.Check("row"); !check.Sinks() {
			t.Errorf("after 8 days: %+v", check)
		}
		server.SetFault()
		if check := w.check(t, "row"); check.Sinks() || check.FailingSince != nil || check.Message != "" || check.State != models.CheckReachable {
			t.Errorf("after the recovery: %+v", check)
		}
		server.SetFault(down)
		if check := w.check(t, "row"); !check.FailingSince.Equal(w.Now()) {
			t.Errorf("failing again since %v", check.FailingSince)
		}
		server.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: 401})
		if check := w.check(t, "row"); check.State != models.CheckSignIn || len(check.Tools) != 0 || check.Revision != "" {
			t.Errorf("tools of a server that now requires authentication: %+v", check)
		}
	})
}

func TestToolsFillRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tools, _ := openTools()
		_, address := mock(t, upstreamtest.Options{Tools: tools})
		w.add(t, "empty", address)
		w.add(t, "full", address, func(e *models.CatalogEntry) { e.ToolNames = models.StringList{"own"} })
		version := w.catalog.Version()
		w.check(t, "empty")
		w.check(t, "full")
		for id, want := range map[string][3]models.StringList{
			"empty": {{"find", "send", "other"}, {"find"}, {"send"}},
			"full":  {{"own"}, {}, {}},
		} {
			e, err := w.catalog.Entry(id)
			if err != nil {
				t.Fatal(err)
			}
			if got := [3]string{strings.Join(e.ToolNames, " "), strings.Join(e.ReadTools, " "), strings.Join(e.WriteTools, " ")}; got != [3]string{strings.Join(want[0], " "), strings.Join(want[1], " "), strings.Join(want[2], " ")} {
				t.Errorf("%s has the tools %v", id, got)
			}
		}
		if w.catalog.Version() == version {
			t.Error("the version of the catalog did not change with its tools")
		}
		var stored models.CatalogEntry
		if err := w.db.First(&stored, "id = ?", "empty").Error; err != nil || len(stored.ToolNames) != 0 {
			t.Errorf("the stored row has the tools %v, %v", stored.ToolNames, err)
		}
	})
}

func TestRemovedRow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, address := mock(t, upstreamtest.Options{})
		w.add(t, "row", address)
		w.check(t, "row")
		if err := w.db.Delete(&models.CatalogEntry{}, "id = ?", "row").Error; err != nil {
			t.Fatal(err)
		}
		if got := w.checked(t); len(got) != 0 {
			t.Errorf("checks of removed rows: %v", got)
		}
	})
}

func TestChecksAreAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, address := mock(t, upstreamtest.Options{}, down)
		w.add(t, "row", address)
		w.check(t, "row")
		w.step(t, time.Minute) // not due, and daily checks are not audited
		w.advance(24 * time.Hour)
		w.step(t, 24*time.Hour)
		var entries []models.AuditEntry
		if err := w.db.Find(&entries).Error; err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 || entries[0].Action != "catalog.checked" || entries[0].Object != "acme/row" || entries[0].Detail["state"] != "failed" || entries[0].Detail["url"] != address {
			t.Errorf("the audit log is %+v", entries)
		}
	})
}
