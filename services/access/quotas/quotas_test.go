package quotas_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/quotas"
)

// halfDay is the time from the start of a test to the next day.
const halfDay = 12 * time.Hour

// others maps what a limit counts to a call of another subject.
var others = map[models.LimitPer]func(*quotas.Call){
	models.PerKey:     func(c *quotas.Call) { c.Key = "key:2" },
	models.PerPerson:  func(c *quotas.Call) { c.Person = "bob" },
	models.PerToolset: func(c *quotas.Call) { c.Toolsets = []string{"other"} },
	models.PerTool:    func(c *quotas.Call) { c.Tool = "github__get_pull" },
	models.PerProject: func(c *quotas.Call) { c.Project = &models.Project{ID: "q", Limits: c.Project.Limits} },
}

func TestLimitPerSubject(t *testing.T) {
	w := onSQLite(t)
	for per, change := range others {
		for name, limit := range map[string]models.Limit{
			"per day":             {Per: per, Match: "*", PerDay: 3},
			"per second":          {Per: per, Match: "*", PerSecond: 0.5, Burst: 3},
			"per second, rounded": {Per: per, Match: "*", PerSecond: 2.5},
		} {
			t.Run(fmt.Sprint(per, " ", name), func(t *testing.T) {
				q, c := w.replica(t), call(limit)
				wait := halfDay
				if limit.PerSecond > 0 {
					wait = time.Duration(float64(time.Second) / limit.PerSecond)
				}
				for range 3 {
					allow(t, q, c)
				}
				refuse(t, q, c, wait)
				refuse(t, q, c, wait) // a refused call is not counted
				other := c
				change(&other)
				allow(t, q, other)
				other.Tool = "slack__send"
				other.Key, other.Person, other.Toolsets = "", "", nil
				if per != models.PerTool && per != models.PerProject {
					for range 4 {
						allow(t, q, other) // callers without the subject are exempt
					}
				}
			})
		}
	}
}

func TestEveryToolsetOfCallIsCharged(t *testing.T) {
	q, c := onSQLite(t).replica(t), call(perDay(models.PerToolset, 2))
	allow(t, q, c)
	c.Toolsets = []string{"writer"}
	allow(t, q, c)
	refuse(t, q, c, halfDay)
	c.Toolsets = []string{"reader", "writer"}
	refuse(t, q, c, halfDay)
	c.Toolsets = []string{"reader"}
	allow(t, q, c) // the refused call was not counted here
	refuse(t, q, c, halfDay)
}

func TestMatchIsAnchored(t *testing.T) {
	q := onSQLite(t).replica(t)
	for pattern, matches := range map[string]bool{
		"*": true, "github__*": true, "*issue": true, "github__get_issue": true, "github__get_issu?": true,
		"github": false, "*__get": false, "GitHub__*": false, "": false,
	} {
		c := call(models.Limit{Per: models.PerProject, Match: pattern, PerDay: 1})
		allow(t, q, c)
		if err := q.Allow(c); (err != nil) != matches {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// TestRefusedCallIsNotCounted checks that one exhausted limit keeps a call from
// being counted by the others, and that the longest wait is returned.
func TestRefusedCallIsNotCounted(t *testing.T) {
	w := onSQLite(t)
	q := w.replica(t)
	day := models.Limit{Per: models.PerProject, Match: "*", PerDay: 2}
	c := call(models.Limit{Per: models.PerKey, Match: "*", PerSecond: 1, Burst: 1}, day)
	allow(t, q, c)
	for range 5 {
		refuse(t, q, c, time.Second)
	}
	w.Advance(time.Second)
	allow(t, q, c)
	refuse(t, q, c, halfDay-time.Second)
	c.Key = "key:2"
	refuse(t, q, c, halfDay-time.Second)
	c.Project = &models.Project{ID: "p", Limits: c.Project.Limits[:1]}
	allow(t, q, c) // the key's bucket was not used
}

func TestDayEndsAtMidnightUTC(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.replica(t), w.replica(t)
		c := call(perDay(models.PerKey, 2))
		allow(t, a, c)
		w.Set(w.Now().Add(halfDay - time.Millisecond))
		allow(t, a, c)
		refuse(t, a, c, time.Millisecond)
		w.Advance(time.Millisecond)
		allow(t, a, c)
		exchange(t, a, b)
		allow(t, b, c)
		exchange(t, b, a, b)
		refuse(t, a, c, 2*halfDay)
		refuse(t, b, c, 2*halfDay)
		var rows []models.QuotaUse
		if err := w.db.Order("day").Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if len(rows) != 2 || rows[0].Day != "2026-03-01" || rows[0].Used != 2 || rows[1].Day != "2026-03-02" || rows[1].Used != 2 {
			t.Errorf("stored %+v", rows)
		}
		w.Advance(2 * halfDay)
		if err := a.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.db.Find(&rows).Error; err != nil || len(rows) != 1 || rows[0].Day != "2026-03-02" {
			t.Errorf("after the sweep: %+v, %v", rows, err)
		}
	})
}

func TestRestartKeepsCount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		q, c := w.replica(t), call(perDay(models.PerTool, 3))
		c.Tool = `odd"[]\__name` + "\x00\u2028"
		allow(t, q, c)
		allow(t, q, c)
		exchange(t, q)
		q = w.replica(t)
		allow(t, q, c)
		refuse(t, q, c, halfDay)
		exchange(t, q)
		used, err := q.Today(t.Context(), "p", 10)
		if err != nil || len(used) != 1 || used[0] != (quotas.Used{Per: models.PerTool, Match: "*", ID: c.Tool, Calls: 3}) {
			t.Errorf("used today: %+v, %v", used, err)
		}
		if used, err = q.Today(t.Context(), "other", 10); err != nil || len(used) != 0 {
			t.Errorf("of another project: %+v, %v", used, err)
		}
	})
}

// TestDatabaseOutage checks that calls are counted locally, and stored later.
func TestDatabaseOutage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.replica(t), w.replica(t)
		c := call(perDay(models.PerKey, 4), models.Limit{Per: models.PerProject, Match: "*", PerSecond: 1, Burst: 10})
		down, cancel := context.WithCancel(t.Context())
		cancel()
		for range 4 {
			allow(t, a, c)
			if a.Exchange(down) == nil || a.Learn(down) == nil {
				t.Fatal("no error")
			}
		}
		refuse(t, a, c, halfDay)
		allow(t, b, c) // b has not seen the calls
		exchange(t, a, b)
		refuse(t, b, c, halfDay)
		if used, err := a.Today(t.Context(), "p", 1); err != nil || len(used) != 1 || used[0].Calls != 5 {
			t.Errorf("used today: %+v, %v", used, err)
		}
	})
}

func TestIdleCountersAreDropped(t *testing.T) {
	w := onSQLite(t)
	q := w.limited(t, 10)
	rate := func(key string) quotas.Call {
		c := call(models.Limit{Per: models.PerKey, Match: "*", PerSecond: 1, Burst: 5})
		c.Key = key
		return c
	}
	for n := range 30 {
		allow(t, q, rate(fmt.Sprint("key:", n)))
	}
	exchange(t, q)
	if n := q.Held(); n != 30 {
		t.Fatalf("%d counters of calls within a second, want 30", n)
	}
	w.Advance(9 * time.Second)
	allow(t, q, rate("key:29"))
	w.Advance(time.Second)
	exchange(t, q)
	if n := q.Held(); n != 1 {
		t.Errorf("%d counters after 10 s without calls, want 1", n)
	}
	days := call(perDay(models.PerKey, 5))
	for n := range 11 {
		days.Key = fmt.Sprint("key:", n)
		allow(t, q, days)
	}
	w.Advance(time.Minute)
	exchange(t, q) // stores the calls
	w.Advance(time.Minute)
	exchange(t, q)
	if n := q.Held(); n != 10 {
		t.Errorf("%d counters of this day, want the maximum of 10", n)
	}
}

func TestUnusedLimitsNeedNoStatement(t *testing.T) {
	w := onSQLite(t)
	q := w.replica(t)
	c := call(models.Limit{Per: models.PerKey, Match: "*", PerSecond: 1, Burst: 5})
	allow(t, q, c)
	exchange(t, q)
	w.Advance(10 * time.Second)
	exchange(t, q) // reads the total a last time
	var statements atomic.Int64
	modelstest.OnStatement(t, w.db, func(statement string) {
		if statement != "COMMIT" {
			statements.Add(1)
		}
	})
	for range 5 {
		w.Advance(time.Second)
		exchange(t, q)
	}
	if n := statements.Load(); n != 0 {
		t.Errorf("%d statements without calls", n)
	}
	allow(t, q, c)
	exchange(t, q)
	if n := statements.Load(); n != 1 {
		t.Errorf("%d statements for an exchange, want 1", n)
	}
}

func TestConcurrentCallsShareLimits(t *testing.T) {
	w := onSQLite(t)
	q := w.replica(t)
	one := call(perDay(models.PerProject, 400), perDay(models.PerToolset, 1000), perDay(models.PerTool, 1000))
	two := one
	two.Project = &models.Project{ID: "p", Limits: []models.Limit{one.Project.Limits[2], one.Project.Limits[0], one.Project.Limits[1]}}
	two.Toolsets = []string{"writer", "reader"}
	var allowed atomic.Int64
	var calling sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			if err := q.Exchange(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}()
	for n := range 8 {
		calling.Go(func() {
			for range 100 {
				if q.Allow([]quotas.Call{one, two}[n%2]) == nil {
					allowed.Add(1)
				}
			}
		})
	}
	calling.Wait()
	<-done
	exchange(t, q)
	if n := allowed.Load(); n != 400 {
		t.Errorf("%d calls allowed, want 400", n)
	}
	used, err := q.Today(t.Context(), "p", 10)
	if err != nil || len(used) != 4 {
		t.Fatalf("used today: %+v, %v", used, err)
	}
	for _, u := range used {
		if u.Calls != 400 {
			t.Errorf("used today: %+v", u)
		}
	}
}

// TestMessages checks what clients read.
func TestMessages(t *testing.T) {
	q := onSQLite(t).replica(t)
	for _, c := range []struct {
		limit models.Limit
		want  string
	}{
		{perDay(models.PerKey, 1), "The project allows 1 of these calls per day for each key. The next day starts at 00:00 UTC."},
		{perDay(models.PerProject, 1), "The project allows 1 of these calls per day. The next day starts at 00:00 UTC."},
		{models.Limit{Per: models.PerPerson, Match: "secret__*", PerSecond: 0.5}, "The project allows 0.5 of these calls per second for each person. Retry later."},
	} {
		request := call(c.limit)
		request.Tool = "secret__x"
		allow(t, q, request)
		if err := q.Allow(request); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
