package quotas_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/quotas"
)

// BenchmarkAllow measures a call: without limits, with limits of one caller,
// and of many callers at once.
func BenchmarkAllow(b *testing.B) {
	plenty := func(per models.LimitPer) models.Limit {
		return models.Limit{Per: per, Match: "*", PerSecond: 1_000_000, Burst: 1_000_000, PerDay: 1_000_000_000}
	}
	var twenty []models.Limit
	for i := range 20 {
		twenty = append(twenty, models.Limit{Per: models.PerKey, Match: fmt.Sprintf("server%d__*", i), PerDay: 1_000_000_000})
	}
	for _, c := range []struct {
		name   string
		limits []models.Limit
	}{
		{"without limits", nil},
		{"1 limit", []models.Limit{plenty(models.PerKey)}},
		{"4 limits", []models.Limit{plenty(models.PerKey), plenty(models.PerPerson), plenty(models.PerTool), plenty(models.PerProject)}},
		{"20 limits of other tools", twenty},
	} {
		q := quotas.New(onSQLite(b).db, quotas.MaxCounters, time.Now, nil)
		b.Run(c.name, func(b *testing.B) {
			request := call(c.limits...)
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Allow(request); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+", parallel keys", func(b *testing.B) {
			var keys atomic.Int64
			b.RunParallel(func(p *testing.PB) {
				request := call(c.limits...)
				request.Key = fmt.Sprint("key:", keys.Add(1))
				for p.Next() {
					if err := q.Allow(request); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkExchange measures an exchange with 1,000 active subjects.
func BenchmarkExchange(b *testing.B) {
	w := onSQLite(b)
	q := w.replica(b)
	request := call(perDay(models.PerKey, 1_000_000_000))
	for b.Loop() {
		b.StopTimer()
		for n := range 1000 {
			request.Key = fmt.Sprint("key:", n)
			allow(b, q, request)
		}
		w.Advance(time.Second)
		b.StartTimer()
		exchange(b, q)
	}
}
