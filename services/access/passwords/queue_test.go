package passwords_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// heldHashes blocks hashes until they are released.
type heldHashes struct {
	*passwords.Hasher
	running, most atomic.Int64
	started       sync.Map // by password
	release       chan struct{}
	all           sync.WaitGroup
}

func holdHashes() *heldHashes {
	h := &heldHashes{release: make(chan struct{})}
	h.Hasher = passwords.New(func(password, _ []byte, _, _ uint32, _ uint8, length uint32) []byte {
		h.started.Store(string(password), true)
		h.most.Store(max(h.most.Load(), h.running.Add(1)))
		<-h.release
		h.running.Add(-1)
		return make([]byte, length)
	})
	return h
}

// begin starts the hash of a password in a queue.
func (h *heldHashes) begin(ctx context.Context, queue passwords.Queue, password string) {
	h.all.Go(func() { _, _ = h.Hash(ctx, queue, secrets.NewValue(password)) })
}

// expect waits until every goroutine is blocked and checks the number of
// running hashes.
func (h *heldHashes) expect(t *testing.T, what string, n int64) {
	t.Helper()
	synctest.Wait()
	if running := h.running.Load(); running != n {
		t.Errorf("%s: %d running hashes, want %d", what, running, n)
	}
}

func TestPasswordHashConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdHashes()
		for n := range 10 {
			h.begin(t.Context(), passwords.NetworkQueue(fmt.Sprintf("10.0.%d.1", n)), "x")
			h.expect(t, fmt.Sprintf("%d networks", n+1), int64(min(n+1, passwords.MaxSignInHashes)))
		}
		for n := range 10 {
			h.begin(t.Context(), passwords.SignedInQueue(fmt.Sprint("session ", n)), "x")
			h.expect(t, fmt.Sprintf("%d sessions", n+1), int64(passwords.MaxSignInHashes+min(n+1, passwords.MaxSignedInHashes)))
		}
		close(h.release)
		h.all.Wait()
		if most := h.most.Load(); most != passwords.MaxSignInHashes+passwords.MaxSignedInHashes {
			t.Errorf("%d concurrent hashes", most)
		}
	})
}

func TestNetworkHoldsOneHashSlot(t *testing.T) {
	for name, network := range map[string]func(n int) string{
		"IPv4":         func(n int) string { return fmt.Sprintf("203.0.113.%d", n) },
		"IPv4 as IPv6": func(n int) string { return fmt.Sprintf("::ffff:203.0.113.%d", n) },
		"IPv6":         func(n int) string { return fmt.Sprintf("2001:db8:0:%x::1", n) },
		"unknown":      func(int) string { return "unknown" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := holdHashes()
				for n := range 100 {
					h.begin(t.Context(), passwords.NetworkQueue(network(n)), "x")
				}
				h.expect(t, "one network", 1)
				h.begin(t.Context(), passwords.NetworkQueue("198.51.100.1"), "x")
				h.expect(t, "with another", 2)
				h.begin(t.Context(), passwords.NetworkQueue("192.0.2.1"), "third")
				synctest.Wait()
				if _, begun := h.started.Load("third"); begun {
					t.Error("third network got a slot")
				}
				for range passwords.MaxSignInHashes {
					h.release <- struct{}{}
				}
				synctest.Wait()
				if _, begun := h.started.Load("third"); !begun {
					t.Error("third network waits for the other 99 of the first")
				}
				close(h.release)
				h.all.Wait()
			})
		})
	}
}

func TestUserHoldsOneHashSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdHashes()
		for range 10 {
			h.begin(t.Context(), passwords.SignedInQueue("ada"), "x")
		}
		h.expect(t, "one person", 1)
		h.begin(t.Context(), passwords.SignedInQueue("bob"), "x")
		h.expect(t, "with another", 2)
		close(h.release)
		h.all.Wait()
	})
}

func TestPasswordHashWaitLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := holdHashes()
		hash := func(ctx context.Context, ip string) error {
			_, err := h.Hash(ctx, passwords.NetworkQueue(ip), secrets.NewValue("x"))
			return err
		}
		for n := range passwords.MaxSignInHashes {
			h.begin(t.Context(), passwords.NetworkQueue(fmt.Sprintf("10.0.%d.1", n)), "x")
		}
		synctest.Wait()
		for place, ip := range map[string]string{"in its network": "10.0.0.1", "for a slot": "192.0.2.1"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := hash(ctx, ip); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("waiting %s: %v", place, err)
			}
			cancel()
			if f := accesstest.Want(t, hash(t.Context(), ip), fault.CodeUnavailable); f.RetryAfter <= 0 {
				t.Errorf("waiting %s: no Retry-After", place)
			}
		}
		close(h.release)
		h.all.Wait()
		if err := hash(t.Context(), "192.0.2.1"); err != nil {
			t.Errorf("with a free slot: %v", err)
		}
	})
}
