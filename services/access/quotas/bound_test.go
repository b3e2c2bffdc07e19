package quotas_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/quotas"
)

// step is the time between the calls of a replica under load.
const step = 50 * time.Millisecond

// TestQuotaBound checks the errors of limits over replicas that exchange their
// counts each second, at different times.
func TestQuotaBound(t *testing.T) {
	t.Run("per day", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			const limit, replicas = 100, 3
			c := call(perDay(models.PerKey, limit))
			made := load(t, w, c, replicas, 20*time.Second, func(int, time.Duration) bool { return true })
			// At most one second of calls of each other replica.
			if most := limit + (replicas-1)*int(time.Second/step); len(made) < limit || len(made) > most {
				t.Errorf("%d calls, want %d to %d", len(made), limit, most)
			}
			refuse(t, w.replica(t), c, halfDay-w.Now().Sub(noon))
		})
	})
	t.Run("per second", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 3 {
				limit := models.Limit{Per: models.PerKey, Match: "*", PerSecond: 0.5 + float64(random.IntN(8)), Burst: 1 + random.Int64N(20)}
				replicas := 2 + random.IntN(2)
				busy, until := make([]bool, replicas), make([]time.Duration, replicas)
				c := call(limit)
				c.Key = "key:" + time.Duration(random.Int64()).String()
				made := load(t, w, c, replicas, 60*time.Second, func(n int, now time.Duration) bool {
					if now >= until[n] {
						busy[n] = !busy[n]
						until[n] = now + time.Duration(random.IntN(8000))*time.Millisecond
					}
					return busy[n]
				})
				checkRate(t, limit, replicas, made)
			}
		})
	})
	t.Run("bursts at once", func(t *testing.T) {
		w := onSQLite(t)
		limit := models.Limit{Per: models.PerKey, Match: "*", PerSecond: 1, Burst: 10}
		made := load(t, w, call(limit), 2, 60*time.Second, func(_ int, now time.Duration) bool {
			return now%(12*time.Second) < time.Second
		})
		checkRate(t, limit, 2, made)
	})
}

// TestRateIsSharedByReplicas checks that a limit isn't multiplied by the number
// of replicas, and that one replica alone has all of it.
func TestRateIsSharedByReplicas(t *testing.T) {
	w := onSQLite(t)
	limit := models.Limit{Per: models.PerProject, Match: "*", PerSecond: 5, Burst: 5}
	const duration = 60 * time.Second
	for replicas := 1; replicas <= 3; replicas++ {
		c := call(limit)
		c.Project.ID = "p" + string(rune('0'+replicas))
		made := len(load(t, w, c, replicas, duration, func(int, time.Duration) bool { return true }))
		least, most := 290, 305+(replicas-1)*10
		if made < least || made > most {
			t.Errorf("%d replicas: %d calls in a minute, want %d to %d", replicas, made, least, most)
		}
	}
}

// TestOtherReplicaIdleKeepsBurst checks that calls of another replica long ago
// don't count.
func TestOtherReplicaIdleKeepsBurst(t *testing.T) {
	w := onSQLite(t)
	limit := models.Limit{Per: models.PerKey, Match: "*", PerSecond: 1, Burst: 10}
	c := call(limit)
	a, b := w.replica(t), w.replica(t)
	allow(t, b, c)
	exchange(t, b)
	w.Advance(time.Minute)
	exchange(t, b) // b's counter settles
	for range 100 {
		allow(t, a, c)
		w.Advance(time.Second)
		exchange(t, a)
	}
	w.Advance(20 * time.Second)
	exchange(t, a, b)
	for range 10 {
		allow(t, b, c)
	}
	exchange(t, b)
	w.Advance(time.Second)
	allow(t, b, c)
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// load returns the times of the allowed calls, of which each busy replica makes
// one every step. Replicas exchange their counts at different times.
func load(t *testing.T, w *world, c quotas.Call, replicas int, duration time.Duration, busy func(replica int, now time.Duration) bool) (made []time.Duration) {
	t.Helper()
	all := make([]*quotas.Quotas, replicas)
	for n := range all {
		all[n] = w.replica(t)
	}
	for now := time.Duration(0); now < duration; now += step {
		for n, q := range all {
			if (now+time.Duration(n)*300*time.Millisecond)%time.Second == 0 {
				exchange(t, q)
			}
			if !busy(n, now) {
				continue
			}
			if q.Allow(c) == nil {
				made = append(made, now)
			}
			if now%(100*time.Millisecond) == 0 {
				if err := q.Learn(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Advance(step)
	}
	exchange(t, all...)
	return made
}

// checkRate checks the calls in every window.
func checkRate(t *testing.T, l models.Limit, replicas int, made []time.Duration) {
	t.Helper()
	if len(made) < int(l.Burst) {
		t.Errorf("%+v: only %d calls", l, len(made))
	}
	for i := range made {
		for j := i; j < len(made); j++ {
			most := l.PerSecond*(made[j]-made[i]).Seconds() + float64(replicas)*(float64(l.Burst)+l.PerSecond)
			if calls := j - i + 1; float64(calls) > most+1e-6 {
				t.Fatalf("%+v with %d replicas: %d calls from %s to %s, want at most %g", l, replicas, calls, made[i], made[j], most)
			}
		}
	}
}
