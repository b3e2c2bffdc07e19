package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/routes/mcp/session"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
)

// mints returns Sessions with a test key ring.
func mints(t testing.TB, ended session.EndedSessions, now func() time.Time) *session.Sessions {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return session.NewSessions(ring, ended, now, slog.New(slog.DiscardHandler))
}

func mint(t testing.TB, all *session.Sessions, owner access.Principal, capabilities string) string {
	t.Helper()
	id, err := all.Mint("p", owner, "2025-11-25", []byte(capabilities))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestCachedSessionBoundToOwner(t *testing.T) {
	owner, other := access.Administrator("one", "p"), access.Administrator("two", "p")
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// The size of the capabilities decides whether the session is cached.
	for name, capabilities := range map[string]string{"short": `{"roots":{}}`, "long": `{"x":"` + strings.Repeat("a", 2<<10) + `"}`} {
		t.Run(name, func(t *testing.T) {
			now := clock
			all := mints(t, ended{}, func() time.Time { return now })
			id := mint(t, all, owner, capabilities)
			for range 2 {
				if s, err := all.Open(id, "p", owner); err != nil || string(s.Capabilities) != capabilities || s.Version != "2025-11-25" || s.Key() == "" {
					t.Fatalf("%v, %v", s, err)
				}
				for what, err := range map[string]error{
					"another principal": second(all.Open(id, "p", other)),
					"another project":   second(all.Open(id, "q", owner)),
					"zero principal":    second(all.Open(id, "p", access.Principal{})),
					"a longer id":       second(all.Open(id+"A", "p", owner)),
					"a changed id":      second(all.Open(id[:len(id)-8]+"________", "p", owner)),
					"no id":             second(all.Open("", "p", owner)),
				} {
					if !fault.Is(err, fault.CodeNotFound) {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			now = clock.Add(sessions.Lifetime)
			if _, err := all.Open(id, "p", owner); !fault.Is(err, fault.CodeNotFound) {
				t.Errorf("after expiry: %v", err)
			}
			now = clock
			session, err := all.Open(id, "p", owner)
			if err != nil {
				t.Fatal(err)
			}
			if err := all.End(t.Context(), session); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := all.Open(id, "p", owner); !fault.Is(err, fault.CodeNotFound) {
					t.Errorf("after End: %v", err)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestCachedSessionEndedElsewhere(t *testing.T) {
	owner, known := access.Administrator("one", "p"), ended{}
	here, there := mints(t, known, time.Now), mints(t, known, time.Now)
	id := mint(t, there, owner, `{}`)
	if _, err := here.Open(id, "p", owner); err != nil {
		t.Fatal(err)
	}
	session, err := there.Open(id, "p", owner)
	if err != nil {
		t.Fatal(err)
	}
	if err := there.End(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Open(id, "p", owner); !fault.Is(err, fault.CodeNotFound) {
		t.Errorf("%v", err)
	}
}

// TestMoreSessionsThanCacheSlots repeatedly opens more sessions than the cache
// holds, in several goroutines.
func TestMoreSessionsThanCacheSlots(t *testing.T) {
	const many = 16_384 + 1000
	owner := access.Administrator("one", "p")
	all := mints(t, ended{}, time.Now)
	var running sync.WaitGroup
	for part := range 4 {
		running.Go(func() {
			ids := make([]string, 0, many/4+1)
			for i := part; i < many; i += 4 {
				ids = append(ids, mint(t, all, owner, fmt.Sprintf(`{"n":%d}`, i)))
			}
			for range 2 {
				for i, id := range ids {
					s, err := all.Open(id, "p", owner)
					if want := fmt.Sprintf(`{"n":%d}`, part+4*i); err != nil || string(s.Capabilities) != want {
						t.Errorf("session %s: %v, %v", want, s, err)
						return
					}
				}
			}
		})
	}
	running.Wait()
}

func BenchmarkOpenSession(b *testing.B) {
	owner := access.Administrator("01991f9e-7a63-7c3e-9d4f-0123456789ab", "p")
	all := mints(b, ended{}, time.Now)
	id := mint(b, all, owner, `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := all.Open(id, "p", owner); err != nil {
			b.Fatal(err)
		}
	}
}

// ended is an EndedSessions in memory.
type ended map[sessions.Hash]bool

func (e ended) IsEnded(s sessions.Hash) bool { return e[s] }

func (e ended) End(_ context.Context, s sessions.Hash) error {
	e[s] = true
	return nil
}

func TestSessionLifetime(t *testing.T) {
	ring, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	principal := access.Administrator("one", "p")
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	all := session.NewSessions(ring, ended{}, func() time.Time { return clock }, slog.New(slog.DiscardHandler))
	id, err := all.Mint("p", principal, "2025-11-25", []byte(`{"roots":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	twin, err := all.Mint("p", principal, "2025-11-25", []byte(`{"roots":{}}`))
	if err != nil || twin == id {
		t.Errorf("two sessions have the same id (%v)", err)
	}
	begin := clock
	for _, c := range []struct {
		age   time.Duration
		lives bool
	}{{0, true}, {sessions.Lifetime - time.Second, true}, {sessions.Lifetime, false}, {sessions.Lifetime + time.Second, false}} {
		clock = begin.Add(c.age)
		session, err := all.Open(id, "p", principal)
		if (err == nil) != c.lives || err != nil && !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("after %v: %v", c.age, err)
		}
		if err == nil && string(session.Capabilities) != `{"roots":{}}` {
			t.Errorf("Capabilities = %s", session.Capabilities)
		}
	}
	clock = begin
	if _, err := all.Open(id, "q", principal); !fault.Is(err, fault.CodeNotFound) {
		t.Errorf("session of another project: %v", err)
	}
	session, err := all.Open(id, "p", principal)
	if err != nil {
		t.Fatal(err)
	}
	if err := all.End(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Open(id, "p", principal); !fault.Is(err, fault.CodeNotFound) || all.Lives(session) {
		t.Errorf("ended session: %v", err)
	}
	if _, err := all.Open(twin, "p", principal); err != nil {
		t.Errorf("ending one session ended another: %v", err)
	}
}
