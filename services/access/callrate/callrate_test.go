package callrate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/callrate"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
)

func rated(perSecond float64, burst int) *models.Project {
	p := accesstest.Project("p", models.AuthNone)
	p.RatePerSecond, p.RateBurst = perSecond, burst
	return p
}

// anonymous returns the principal of a project without authentication.
func anonymous(t *testing.T, p *models.Project) access.Principal {
	t.Helper()
	principal, err := access.NewProjectAuth(keys.NewIndex(nil, time.Now), accesstest.NoTokens{}, time.Now, time.Minute, time.Now).Authenticate(t.Context(), p, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return principal
}

func TestBurstLimit(t *testing.T) {
	for _, burst := range []int{1, 2, 5} {
		for _, n := range []int{burst - 1, burst, burst + 1} {
			t.Run(fmt.Sprintf("%d of %d", n, burst), func(t *testing.T) {
				c := accesstest.NewClock()
				limits, p := callrate.New(c.Now), rated(1, burst)
				for i := range n {
					err := limits.Allow(p, anonymous(t, p), 1)
					if i < burst {
						if err != nil {
							t.Fatalf("Allow() for call %d = %v", i+1, err)
						}
						continue
					}
					if f := accesstest.Want(t, err, fault.CodeRateLimited); f.Kind != fault.KindRateLimited || f.RetryAfter != time.Second {
						t.Errorf("Allow() for call %d = %+v", i+1, f)
					}
				}
			})
		}
	}
}

func TestTokensRefill(t *testing.T) {
	c := accesstest.NewClock()
	limits, p := callrate.New(c.Now), rated(2, 1)
	who := anonymous(t, p)
	if err := limits.Allow(p, who, 1); err != nil {
		t.Fatal(err)
	}
	c.Advance(499 * time.Millisecond)
	if f := accesstest.Want(t, limits.Allow(p, who, 1), fault.CodeRateLimited); f.RetryAfter <= 0 || f.RetryAfter > 2*time.Millisecond {
		t.Errorf("RetryAfter = %s, want 1ms", f.RetryAfter)
	}
	c.Advance(time.Millisecond)
	if err := limits.Allow(p, who, 1); err != nil {
		t.Errorf("after half a second: %v", err)
	}
	c.Advance(time.Hour) // at most the burst
	if err := limits.Allow(p, who, 1); err != nil {
		t.Error(err)
	}
	accesstest.Want(t, limits.Allow(p, who, 1), fault.CodeRateLimited)
}

func TestRejectedCallsTakeNoTokens(t *testing.T) {
	c := accesstest.NewClock()
	limits, p := callrate.New(c.Now), rated(1, 3)
	who := anonymous(t, p)
	if err := limits.Allow(p, who, 2); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if f := accesstest.Want(t, limits.Allow(p, who, 2), fault.CodeRateLimited); f.RetryAfter != time.Second {
			t.Errorf("RetryAfter = %s", f.RetryAfter)
		}
	}
	if err := limits.Allow(p, who, 1); err != nil {
		t.Errorf("rejected calls consumed a token: %v", err)
	}
}

func TestBatchBeyondBurstIsRejected(t *testing.T) {
	c := accesstest.NewClock()
	limits, p := callrate.New(c.Now), rated(1000, 5)
	who := anonymous(t, p)
	accesstest.Want(t, limits.Allow(p, who, 6), fault.CodeRateLimited)
	if err := limits.Allow(p, who, 5); err != nil {
		t.Errorf("batch of burst size: %v", err)
	}
	c.Advance(time.Second)
	if err := limits.Allow(p, who, 4); err != nil {
		t.Errorf("batch below burst size: %v", err)
	}
}

func TestProjectWithoutRate(t *testing.T) {
	limits := callrate.New(accesstest.NewClock().Now)
	for _, perSecond := range []float64{0, -1} {
		p := rated(perSecond, 1)
		for range 1000 {
			if err := limits.Allow(p, anonymous(t, p), 50); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRateWithoutBurst(t *testing.T) {
	limits, p := callrate.New(accesstest.NewClock().Now), rated(1, 0)
	if err := limits.Allow(p, anonymous(t, p), 1); err != nil {
		t.Error(err)
	}
	accesstest.Want(t, limits.Allow(p, anonymous(t, p), 1), fault.CodeRateLimited)
}

func TestChangedRateAppliesImmediately(t *testing.T) {
	c := accesstest.NewClock()
	limits, slow, fast := callrate.New(c.Now), rated(0.001, 1), rated(100, 2)
	who := anonymous(t, slow)
	if err := limits.Allow(slow, who, 1); err != nil {
		t.Fatal(err)
	}
	accesstest.Want(t, limits.Allow(slow, who, 1), fault.CodeRateLimited)
	for range 2 {
		if err := limits.Allow(fast, who, 1); err != nil {
			t.Errorf("after the change: %v", err)
		}
	}
	if f := accesstest.Want(t, limits.Allow(fast, who, 1), fault.CodeRateLimited); f.RetryAfter > 10*time.Millisecond {
		t.Errorf("RetryAfter = %s", f.RetryAfter)
	}
}

func TestCallersAndProjectsHaveSeparateRates(t *testing.T) {
	w := accesstest.OnSQLite(t)
	limits := callrate.New(w.Now)
	p, q := rated(1, 1), rated(1, 1)
	p.AuthMode, q.ID = models.AuthAPIKey, "q"
	for range 2 {
		_, key := w.Create(t, 0)
		who, err := w.Auth.Authenticate(t.Context(), p, "", "Bearer "+key)
		if err != nil {
			t.Fatal(err)
		}
		if err := limits.Allow(p, who, 1); err != nil {
			t.Errorf("other key: %v", err)
		}
		accesstest.Want(t, limits.Allow(p, who, 1), fault.CodeRateLimited)
	}
	for _, project := range []*models.Project{rated(1, 1), q} {
		if err := limits.Allow(project, anonymous(t, project), 1); err != nil {
			t.Errorf("other project: %v", err)
		}
	}
}

func TestSweepDeletesOnlyFullBuckets(t *testing.T) {
	c := accesstest.NewClock()
	limits, hourly := callrate.New(c.Now), rated(1.0/3600, 1)
	who := anonymous(t, hourly)
	if err := limits.Allow(hourly, who, 1); err != nil {
		t.Fatal(err)
	}
	other := rated(1, 1)
	other.ID = "other"
	for range 5 { // 50 minutes, with sweeps by calls of other users
		c.Advance(10 * time.Minute)
		if err := limits.Allow(other, anonymous(t, other), 1); err != nil {
			t.Fatal(err)
		}
	}
	accesstest.Want(t, limits.Allow(hourly, who, 1), fault.CodeRateLimited)
	c.Advance(10 * time.Minute)
	if err := limits.Allow(hourly, who, 1); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}

func TestConcurrentCallsShareBurst(t *testing.T) {
	c := accesstest.NewClock()
	limits, p := callrate.New(c.Now), rated(1, 40)
	who := anonymous(t, p)
	var allowed atomic.Int64
	var calling sync.WaitGroup
	for range 8 {
		calling.Go(func() {
			for range 20 {
				if limits.Allow(p, who, 1) == nil {
					allowed.Add(1)
				}
			}
		})
	}
	calling.Wait()
	if allowed.Load() != 40 {
		t.Errorf("%d calls allowed, want 40", allowed.Load())
	}
}

func TestRateChangesDuringCalls(t *testing.T) {
	c := accesstest.NewClock()
	limits := callrate.New(c.Now)
	rates := []*models.Project{rated(1, 1), rated(2, 2), rated(3, 3)}
	who := anonymous(t, rates[0])
	var calling sync.WaitGroup
	for i := range 6 {
		calling.Go(func() {
			for range 200 {
				_ = limits.Allow(rates[i%3], who, 1)
				c.Advance(time.Second)
			}
		})
	}
	calling.Wait()
	c.Advance(time.Hour)
	if err := limits.Allow(rates[0], who, 1); err != nil {
		t.Errorf("after the concurrent changes: %v", err)
	}
}
