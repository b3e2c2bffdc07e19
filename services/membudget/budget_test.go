package membudget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/membudget"
)

const most = 100

// reserve reserves memory for a result and fails the test on error.
func reserve(t *testing.T, m interface {
	Reserve(ctx context.Context, length, most int64) (int64, error)
}, length int64) (limit int64) {
	t.Helper()
	limit, err := m.Reserve(t.Context(), length, most)
	if err != nil {
		t.Fatalf("Reserve(%d) = %v", length, err)
	}
	return limit
}

func TestLeaseHoldsWhatItsResultNeeds(t *testing.T) {
	b := membudget.New(1000)
	l := b.NewLease()
	steps := []struct {
		name string
		do   func()
		want int64
	}{
		{"known length", func() { reserve(t, l, 50) }, 50},
		{"settled to the same", func() { l.Settle(50) }, 50},
		{"settled to more", func() { l.Settle(51) }, 50},
		{"settled to less", func() { l.Settle(49) }, 49},
		{"replaced, of unknown length", func() { reserve(t, l, -1) }, 2 * most},
		{"settled to nothing", func() { l.Settle(0) }, 0},
		{"again", func() { reserve(t, l, most) }, most},
		{"released", func() { l.Release() }, 0},
		{"released twice", func() { l.Release() }, 0},
	}
	for _, s := range steps {
		if s.do(); b.Held() != s.want {
			t.Fatalf("%s: %d bytes are held, want %d", s.name, b.Held(), s.want)
		}
	}
	if _, err := l.Reserve(t.Context(), 1, most); !fault.Is(err, fault.CodeUnavailable) || b.Held() != 0 {
		t.Errorf("a released lease reserved: %v, %d bytes", err, b.Held())
	}
}

func TestReserveWaitsForMemory(t *testing.T) {
	for free, waits := range map[int64]bool{49: true, 50: false, 51: false} {
		synctest.Test(t, func(t *testing.T) {
			b := membudget.New(1000)
			first, second := b.NewLease(), b.NewLease()
			reserve(t, first, 1000-free)
			got := make(chan error, 1)
			go func() {
				_, err := second.Reserve(t.Context(), 50, most)
				got <- err
			}()
			synctest.Wait()
			if waiting := len(got) == 0; waiting != waits {
				t.Fatalf("%d bytes free: waiting %v", free, waiting)
			}
			first.Release()
			if err := <-got; err != nil || b.Held() != 50 {
				t.Errorf("%v, %d bytes are held", err, b.Held())
			}
		})
	}
}

func TestReserveGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membudget.New(10)
		reserve(t, b.NewLease(), 10)
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := b.NewLease().Reserve(late, 1, most)
		if !fault.Is(err, fault.CodeUnavailable) || fault.From(err).RetryAfter == 0 || time.Since(began) != time.Second {
			t.Errorf("at the deadline: %v after %v", err, time.Since(began))
		}
		if _, err := b.NewLease().Reserve(late, 1, most); !fault.Is(err, fault.CodeUnavailable) || time.Since(began) != time.Second {
			t.Errorf("after the deadline: %v after %v", err, time.Since(began))
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := b.NewLease().Reserve(gone, 1, most); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestReserveAfterDeadlineTakesFreeMemory(t *testing.T) {
	b := membudget.New(10)
	ended, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := b.NewLease().Reserve(ended, 10, most); err != nil {
		t.Error(err)
	}
}

// TestLargerThanBudget checks that a result that exceeds the budget acquires
// all of it instead of waiting forever.
func TestLargerThanBudget(t *testing.T) {
	b := membudget.New(10)
	l := b.NewLease()
	if reserve(t, l, -1); b.Held() != 10 {
		t.Errorf("%d bytes are held", b.Held())
	}
	l.Release()
}

func TestNilBudgetIsUnlimited(t *testing.T) {
	var b *membudget.Budget
	l, batch := b.NewLease(), b.NewBatch(16)
	reserve(t, l, 1<<40)
	l.Settle(1)
	l.Release()
	(*membudget.Lease)(nil).Release()
	if b.Held() != 0 {
		t.Error("a nil budget holds something")
	}
	r := batch.Result()
	reserve(t, r, 16)
	r.Settle(16)
	if err := batch.Result().Keep(1); !fault.Is(err, fault.CodeResultTooLarge) {
		t.Errorf("the results of a batch are unlimited: %v", err)
	}
	batch.Release()
}

func TestBatchLimitsItsResults(t *testing.T) {
	const batchMost = 1000
	for n, fits := range map[int64]bool{699: true, 700: true, 701: false} {
		b := membudget.New(1 << 20)
		batch := b.NewBatch(batchMost)
		first := batch.Result()
		reserve(t, first, 300)
		first.Settle(300)
		if b.Held() != 2*batchMost {
			t.Errorf("the batch holds %d bytes, want %d", b.Held(), 2*batchMost)
		}
		known := batch.Result()
		limit, err := known.Reserve(t.Context(), n, 5000)
		if fits != (err == nil) || !fits && !fault.Is(err, fault.CodeResultTooLarge) || fits && limit < n {
			t.Errorf("%d bytes: %d, %v", n, limit, err)
		}
		known.Settle(0)
		if err := batch.Result().Keep(n); fits != (err == nil) {
			t.Errorf("Keep(%d) = %v", n, err)
		}
		batch.Release()
		if b.Held() != 0 {
			t.Errorf("%d bytes are held after Release", b.Held())
		}
	}
	batch := membudget.New(1 << 20).NewBatch(batchMost)
	first := batch.Result()
	if limit := reserve(t, first, -1); limit != most {
		t.Errorf("the first may have %d bytes, want %d", limit, most)
	}
	first.Settle(950)
	second := batch.Result()
	if limit := reserve(t, second, -1); limit != 50 {
		t.Errorf("the second may have %d bytes, want 50", limit)
	}
	second.Settle(0)
	if err := first.Keep(1000); err != nil { // 950 became 1,000
		t.Error(err)
	}
	if _, err := second.Reserve(t.Context(), -1, most); !fault.Is(err, fault.CodeResultTooLarge) {
		t.Errorf("a full batch: %v", err)
	}
}

// TestBatchReadsOneLargeResult checks that results of one batch wait for each
// other, and that a repeated Reserve keeps the semaphore.
func TestBatchReadsOneLargeResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batch := membudget.New(1 << 20).NewBatch(1000)
		first, second := batch.Result(), batch.Result()
		reserve(t, first, 900)
		reserve(t, first, 600)
		got := make(chan error, 1)
		go func() {
			_, err := second.Reserve(t.Context(), 500, most)
			got <- err
		}()
		synctest.Wait()
		if len(got) != 0 {
			t.Fatal("two large results are read concurrently")
		}
		first.Settle(500)
		if err := <-got; err != nil {
			t.Errorf("the other half: %v", err)
		}
		second.Settle(500)
	})
}

// TestBatchesDoNotBlockEachOther reads all results of batches that together
// exceed the budget.
func TestBatchesDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := membudget.New(5000) // two batches
		ended := make(chan error, 8)
		for range cap(ended) {
			go func() {
				batch := b.NewBatch(1000)
				defer batch.Release()
				var failed error
				for range 10 {
					r := batch.Result()
					_, err := r.Reserve(t.Context(), 100, most)
					time.Sleep(time.Second) // others come in the meantime
					r.Settle(100)
					failed = errors.Join(failed, err, r.Keep(100))
				}
				ended <- failed
			}()
		}
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if b.Held() != 0 {
			t.Errorf("%d bytes are held after Release", b.Held())
		}
	})
}
