package schedule_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/catalog/schedule"
	"mcpgateway/services/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// syncer records which sources were synced.
type syncer struct {
	mu  sync.Mutex
	ids []string
	err error
}

func (s *syncer) SyncSource(_ context.Context, id string, run catalog.Run) (importer.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run != (catalog.Run{}) {
		panic("a scheduled sync approves nothing")
	}
	s.ids = append(s.ids, id)
	return importer.Plan{}, s.err
}

// taken returns the synced sources since the last call.
func (s *syncer) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	s.ids = nil
	return ids
}

func add(t *testing.T, db *gorm.DB, row models.CatalogSource) {
	t.Helper()
	row.Kind, row.Name = models.CatalogFile, row.ID
	if row.CreatedAt.IsZero() {
		row.CreatedAt = noon
	}
	if err := db.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	if !row.Enabled { // false is not created, because the column has a default
		if err := db.Model(&row).Update("enabled", false).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func TestDueSources(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := noon
		s := &syncer{}
		schedules := schedule.New(db, s, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		for _, every := range []models.CatalogSchedule{models.ScheduleOff, models.ScheduleHourly, models.ScheduleDaily, models.ScheduleWeekly} {
			add(t, db, models.CatalogSource{ID: string(every), URL: "https://example.com/" + string(every), Enabled: true, Schedule: every})
		}
		add(t, db, models.CatalogSource{ID: "disabled", URL: "https://example.com/disabled", Schedule: models.ScheduleHourly})
		for _, tt := range []struct {
			after time.Duration
			want  []string
		}{
			{time.Hour - time.Millisecond, nil},
			{time.Hour, []string{"hourly"}},
			{time.Hour + time.Millisecond, nil},
			{2*time.Hour + time.Millisecond, []string{"hourly"}},
			{24*time.Hour - time.Millisecond, []string{"hourly"}},
			{24 * time.Hour, []string{"daily"}},
			{24*time.Hour + time.Millisecond, nil},
			{7*24*time.Hour - time.Millisecond, []string{"daily", "hourly"}},
			{7 * 24 * time.Hour, []string{"weekly"}},
			{7*24*time.Hour + time.Millisecond, nil},
		} {
			now = noon.Add(tt.after)
			if err := schedules.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.taken()); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", tt.after, diff)
			}
		}
	})
}

func TestFailedSyncWaitsForItsNextTime(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := noon.Add(time.Hour)
		s := &syncer{err: fault.Upstream(fault.CodeUpstreamUnavailable, "down")}
		schedules := schedule.New(db, s, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		for _, id := range []string{"a", "b"} {
			add(t, db, models.CatalogSource{ID: id, URL: "https://example.com/" + id, Enabled: true, Schedule: models.ScheduleHourly})
		}
		for _, tt := range []struct {
			at   time.Time
			want []string
		}{{now, []string{"a", "b"}}, {now.Add(59 * time.Minute), nil}, {now.Add(time.Hour), []string{"a", "b"}}} {
			now = tt.at
			if err := schedules.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.taken()); diff != "" {
				t.Errorf("at %s (-want +got):\n%s", tt.at, diff)
			}
		}
	})
}

func TestReplicasSyncOnce(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := &syncer{}
		var replicas []*schedule.Schedule
		for range 2 {
			replicas = append(replicas, schedule.New(modelstest.Open(t, dsn), s, func() time.Time { return noon.Add(time.Hour) }, slog.New(slog.DiscardHandler)))
		}
		db := modelstest.Open(t, dsn)
		for _, id := range []string{"a", "b", "c"} {
			add(t, db, models.CatalogSource{ID: id, URL: "https://example.com/" + id, Enabled: true, Schedule: models.ScheduleHourly})
		}
		var running sync.WaitGroup
		for _, replica := range replicas {
			running.Go(func() {
				if err := replica.RunDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if got := s.taken(); len(got) != 3 {
			t.Errorf("syncs = %v, want one of each source", got)
		}
	})
}

func TestNextSync(t *testing.T) {
	started := noon.Add(time.Minute)
	for _, tt := range []struct {
		name string
		row  models.CatalogSource
		want *time.Time
	}{
		{"off", models.CatalogSource{URL: "https://example.com", Enabled: true, Schedule: models.ScheduleOff, CreatedAt: noon}, nil},
		{"disabled", models.CatalogSource{URL: "https://example.com", Schedule: models.ScheduleDaily, CreatedAt: noon}, nil},
		{"no URL", models.CatalogSource{Enabled: true, Schedule: models.ScheduleDaily, CreatedAt: noon}, nil},
		{"new", models.CatalogSource{URL: "https://example.com", Enabled: true, Schedule: models.ScheduleDaily, CreatedAt: noon}, new(noon.Add(24 * time.Hour))},
		{"synced", models.CatalogSource{URL: "https://example.com", Enabled: true, Schedule: models.ScheduleWeekly, CreatedAt: noon, StartedAt: &started}, new(started.Add(7 * 24 * time.Hour))},
	} {
		if diff := cmp.Diff(tt.want, schedule.Next(&tt.row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
