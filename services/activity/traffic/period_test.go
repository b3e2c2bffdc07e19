package traffic_test

import (
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
)

func TestPeriodLimits(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		store := stored(t, db)
		of := func(n int) traffic.Period {
			return traffic.Period{From: noon, To: noon.Add(time.Duration(n) * time.Minute), Step: time.Minute}
		}
		for _, n := range []int{traffic.MaxBuckets - 1, traffic.MaxBuckets, traffic.MaxBuckets + 1} {
			for _, compare := range []bool{false, true} {
				r, err := store.Report(t.Context(), p, of(n), compare)
				if refused := fault.Is(err, fault.CodeInvalidParameter); refused != (n > traffic.MaxBuckets) || err == nil && len(r.Buckets) != n {
					t.Errorf("%d steps: %v", n, err)
				}
			}
			if _, err := store.Projects(t.Context(), of(n)); fault.Is(err, fault.CodeInvalidParameter) != (n > traffic.MaxBuckets) {
				t.Errorf("%d steps: %v", n, err)
			}
		}
		for name, wrong := range map[string]traffic.Period{
			"zero": {}, "empty": {From: noon, To: noon, Step: time.Minute}, "reversed": {From: noon, To: noon.Add(-time.Hour), Step: time.Minute},
			"no step": {From: noon, To: noon.Add(time.Hour)}, "part of a step": {From: noon, To: noon.Add(90 * time.Second), Step: time.Minute},
			"part of a second": {From: noon.Add(time.Millisecond), To: noon.Add(time.Minute + time.Millisecond), Step: time.Minute},
			"short step":       {From: noon, To: noon.Add(time.Second), Step: time.Millisecond},
		} {
			if _, err := store.Totals(t.Context(), p, wrong); !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestLast(t *testing.T) {
	now := noon.Add(41*time.Minute + 7*time.Second)
	want := map[string]struct {
		buckets int
		to      string
	}{"1h": {60, "12:42"}, "6h": {72, "12:45"}, "24h": {48, "13:00"}, "7d": {56, "15:00"}, "30d": {60, "00:00"}}
	for _, name := range traffic.Names() {
		p, ok := traffic.Last(name, now)
		if w := want[name]; !ok || int(p.To.Sub(p.From)/p.Step) != w.buckets || p.To.Format("15:04") != w.to || p.To.Add(-p.Unfinished) != now {
			t.Errorf("Last(%q) = %+v", name, p)
		}
	}
	if _, ok := traffic.Last("2h", now); ok || !slices.Equal(traffic.Names(), []string{"1h", "6h", "24h", "7d", "30d"}) {
		t.Errorf("names %v", traffic.Names())
	}
	p, _ := traffic.Last("1h", now)
	if before := p.Previous(); before.Next().From != p.From || before.Next().To != p.To || before.To != p.From || before.Unfinished != p.Unfinished {
		t.Errorf("previous %+v of %+v", before, p)
	}
}

func TestBetween(t *testing.T) {
	now := noon.Add(10 * time.Hour)
	for length, step := range map[time.Duration]time.Duration{
		time.Second: time.Second, 75 * time.Second: time.Second, 76 * time.Second: 5 * time.Second, 2 * time.Hour: 5 * time.Minute,
		24 * time.Hour: 30 * time.Minute, 7 * 24 * time.Hour: 3 * time.Hour, 365 * 24 * time.Hour: 7 * 24 * time.Hour,
	} {
		p, ok := traffic.Between(noon, noon.Add(length), now)
		if !ok || p.Step != step || p.From.After(noon) || p.To.Before(noon.Add(length)) || p.To.Sub(p.From)%step != 0 {
			t.Errorf("Between(%v) = %+v, %v", length, p, ok)
		}
	}
	if p, ok := traffic.Between(noon.Add(time.Millisecond), noon.Add(time.Second+time.Millisecond), now); !ok || !p.From.Equal(noon) || !p.To.Equal(noon.Add(2*time.Second)) {
		t.Errorf("%+v", p)
	}
	if p, _ := traffic.Between(now.Add(-30*time.Second), now.Add(10*time.Second), now); p.Unfinished != 10*time.Second {
		t.Errorf("%+v", p)
	}
	for _, to := range []time.Time{noon, noon.Add(-time.Second), noon.AddDate(100, 0, 0)} {
		if p, ok := traffic.Between(noon, to, now); ok {
			t.Errorf("Between(noon, %v) = %+v", to, p)
		}
	}
}
