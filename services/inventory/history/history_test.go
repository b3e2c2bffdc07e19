package history_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory/history"
	"mcpgateway/services/upstream"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a database with two servers and the histories of two replicas.
type world struct {
	db   *gorm.DB
	now  time.Time
	a, b *history.Store
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := &world{db: db, now: noon}
		if err := db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"s", "r"} {
			row := models.Server{ID: id, ProjectID: "p", Alias: id, AliasFold: id, URL: "https://a.example", Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, TimeoutMS: 1000, MaxConcurrent: 1, ConfigVersion: 1}
			if err := db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		clock := func() time.Time { return w.now }
		w.a, w.b = history.New(db, clock, slog.New(slog.DiscardHandler)), history.New(db, clock, slog.New(slog.DiscardHandler))
		f(t, w)
	})
}

// note records an outcome after a delay and writes it.
func (w *world) note(t *testing.T, after time.Duration, s *history.Store, err error) {
	t.Helper()
	w.now = w.now.Add(after)
	s.Note("s", err)
	w.flush(t, s)
}

func (w *world) flush(t *testing.T, s *history.Store) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// rows returns the stored observations of server s as lines.
func (w *world) rows(t *testing.T) []models.ServerState {
	t.Helper()
	all, err := w.a.Servers(t.Context(), []string{"s", "r"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return all["s"]
}

func down(reason upstream.Reason) error {
	f := fault.Upstream(fault.CodeUpstreamUnavailable, "Upstream is down.")
	f.Reason = string(reason)
	return fmt.Errorf("call: %w", f)
}

func TestChangesAreStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, s := range []*history.Store{w.a, w.b} {
			w.note(t, 0, s, nil)
			w.note(t, time.Minute, s, nil)
		}
		w.note(t, time.Minute, w.a, down(upstream.ReasonRefused))
		w.note(t, time.Second, w.b, down(upstream.ReasonRefused))
		w.note(t, time.Minute, w.a, down(upstream.ReasonHTTP.WithParameter("502")))
		w.note(t, time.Minute, w.a, nil)
		got := ""
		for _, row := range w.rows(t) {
			got += fmt.Sprintf("%s %s %s; ", row.At.UTC().Format("15:04:05"), row.State, row.Cause)
		}
		if want := "12:00:00 up ; 12:03:00 down refused; 12:04:01 down http:502; 12:05:01 up ; "; got != want {
			t.Errorf("rows = %s, want %s", got, want)
		}
	})
}

func TestUnchangedStateIsRepeated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.note(t, 0, w.a, nil)
		for _, tt := range []struct {
			after time.Duration
			rows  int
		}{{10*time.Minute - time.Millisecond, 1}, {time.Millisecond, 2}, {time.Millisecond, 2}} {
			w.note(t, tt.after, w.a, nil)
			if got := len(w.rows(t)); got != tt.rows {
				t.Errorf("at %s: %d rows, want %d", w.now, got, tt.rows)
			}
		}
	})
}

func TestFlappingServerIsStoredSlowly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.note(t, 0, w.a, nil)
		for i := range 100 { // 20 s of changes
			outcome := down(upstream.ReasonRefused)
			if i%2 == 0 {
				outcome = nil
			}
			w.note(t, 200*time.Millisecond, w.a, outcome)
		}
		if got := len(w.rows(t)); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
		w.now = w.now.Add(9*time.Second + 999*time.Millisecond)
		w.flush(t, w.a)
		if got := len(w.rows(t)); got != 1 {
			t.Errorf("before the spacing ends: %d rows, want 1", got)
		}
		w.now = w.now.Add(time.Millisecond)
		w.flush(t, w.a)
		rows := w.rows(t)
		if len(rows) != 2 || rows[1].State != models.ServerDown || !rows[1].At.Equal(noon.Add(20*time.Second)) {
			t.Errorf("rows = %+v", rows)
		}
	})
}

func TestOnlyFailuresOfTheServerCount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, err := range []error{context.Canceled, errors.New("bug"), fault.NotFound("tool", "x"), fault.Internal(errors.New("disk"))} {
			w.note(t, time.Hour, w.a, err)
		}
		if got := w.rows(t); len(got) != 0 {
			t.Errorf("rows = %+v", got)
		}
		w.note(t, 0, w.a, down(upstream.ReasonNotConnected))
		w.note(t, time.Minute, w.a, down(upstream.ReasonNoToken))
		for _, row := range w.rows(t) {
			if row.State != models.ServerUnset {
				t.Errorf("state = %s, want unset", row.State)
			}
		}
	})
}

func TestDeletedServerHasNoHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.note(t, 0, w.a, nil)
		if err := w.db.Delete(&models.Server{}, "id = ?", "s").Error; err != nil {
			t.Fatal(err)
		}
		w.note(t, time.Hour, w.a, nil)
		if got := w.rows(t); len(got) != 0 {
			t.Errorf("rows = %+v", got)
		}
	})
}

func TestSweepDeletesOldObservations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.note(t, 0, w.a, nil)
		for _, tt := range []struct {
			age  time.Duration
			rows int
		}{{history.Retention - time.Millisecond, 1}, {history.Retention, 1}, {history.Retention + time.Millisecond, 0}} {
			w.now = noon.Add(tt.age)
			if err := w.a.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(w.rows(t)); got != tt.rows {
				t.Errorf("age %s: %d rows, want %d", tt.age, got, tt.rows)
			}
		}
	})
}

func TestRunWritesTheRestAtItsEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.a.Note("s", nil)
		w.a.Run(ctx)
		if got := len(w.rows(t)); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
	})
}

func row(minute int, state models.ServerStateKind) models.ServerState {
	return models.ServerState{ServerID: "s", At: noon.Add(time.Duration(minute) * time.Minute), State: state}
}

func TestParts(t *testing.T) {
	const up, down, unset = models.ServerUp, models.ServerDown, models.ServerUnset
	for _, tt := range []struct {
		name  string
		rows  []models.ServerState
		parts string // up and down in minutes of 4 parts of 30 minutes
		share float64
		known bool
		since int // minute of the first of the latest failures; -1 for none
	}{
		{"nothing is known", nil, "0/0 0/0 0/0 0/0", 0, false, -1},
		{"one observation holds for half an hour", []models.ServerState{row(10, up)}, "20/0 10/0 0/0 0/0", 1, true, -1},
		{"observations before the period count", []models.ServerState{row(-20, up)}, "10/0 0/0 0/0 0/0", 1, true, -1},
		{"a change ends the one before", []models.ServerState{row(0, up), row(15, down), row(30, down), row(45, up), row(60, up), row(90, up)}, "15/15 15/15 30/0 30/0", 0.75, true, -1},
		{"still down", []models.ServerState{row(75, up), row(90, down), row(100, down)}, "0/0 0/0 15/0 0/30", 1.0 / 3, true, 90},
		{"without credentials", []models.ServerState{row(0, up), row(6, unset), row(36, unset)}, "6/0 0/0 0/0 0/0", 1, true, -1},
		{"the future is not counted", []models.ServerState{row(110, up)}, "0/0 0/0 0/0 10/0", 1, true, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parts := history.Parts(tt.rows, noon, noon.Add(2*time.Hour), 4)
			got := ""
			for i, p := range parts {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("%.0f/%.0f", p.Up.Minutes(), p.Down.Minutes())
			}
			share, known := history.Availability(parts)
			if got != tt.parts || known != tt.known || share < tt.share-1e-9 || share > tt.share+1e-9 {
				t.Errorf("parts = %s, %v %v; want %s, %v %v", got, share, known, tt.parts, tt.share, tt.known)
			}
			want := time.Time{}
			if tt.since >= 0 {
				want = noon.Add(time.Duration(tt.since) * time.Minute)
			}
			if since := history.DownSince(tt.rows); !since.Equal(want) {
				t.Errorf("down since %s, want %s", since, want)
			}
		})
	}
}
