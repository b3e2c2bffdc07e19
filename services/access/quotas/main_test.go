package quotas_test

import (
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// world is one database with a clock for all its replicas.
type world struct {
	*accesstest.Clock
	db *gorm.DB
}

// each runs the test on both databases, at noon in UTC.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) { f(t, &world{accesstest.NewClock(), db}) })
}

func onSQLite(t testing.TB) *world {
	return &world{accesstest.NewClock(), modelstest.Open(t, modelstest.SQLite(t))}
}

// replica returns the quotas of a process that has just started.
func (w *world) replica(t testing.TB) *quotas.Quotas { return w.limited(t, quotas.MaxCounters) }

func (w *world) limited(t testing.TB, max int) *quotas.Quotas {
	t.Helper()
	q := quotas.New(w.db, max, w.Now, slog.New(slog.DiscardHandler))
	if err := q.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

// call returns a call with every subject in a project with the limits.
func call(limits ...models.Limit) quotas.Call {
	return quotas.Call{
		Project: &models.Project{ID: "p", Limits: limits}, Key: "key:1", Person: "ann", Toolsets: []string{"reader", "writer"}, Tool: "github__get_issue",
	}
}

func perDay(per models.LimitPer, n int64) models.Limit {
	return models.Limit{Per: per, Match: "*", PerDay: n}
}

// allow fails the test if a call is refused.
func allow(t testing.TB, q *quotas.Quotas, c quotas.Call) {
	t.Helper()
	if err := q.Allow(c); err != nil {
		t.Fatalf("refused: %v", err)
	}
}

// refuse fails the test unless a call is refused with the time to wait.
func refuse(t testing.TB, q *quotas.Quotas, c quotas.Call, wait time.Duration) {
	t.Helper()
	err := q.Allow(c)
	if f := fault.From(err); !quotas.Refused(err) || f.Code != fault.CodeRateLimited || f.Kind != fault.KindRateLimited || f.RetryAfter.Round(time.Millisecond) != wait {
		t.Fatalf("got %v with %s, want RATE_LIMITED with %s", err, f.RetryAfter, wait)
	}
}

// exchange exchanges the counts of the replicas, one after another.
func exchange(t testing.TB, replicas ...*quotas.Quotas) {
	t.Helper()
	for _, q := range replicas {
		if err := q.Exchange(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
