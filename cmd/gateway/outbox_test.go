package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// hook is a receiver of webhooks that checks signatures. It records the audit
// numbers of new events in the order of their arrival.
type hook struct {
	mu      sync.Mutex
	secret  secrets.Value
	seen    map[string]bool
	order   []int64
	wrong   []string
	hold    chan struct{} // receives when a request came while hanging
	hanging bool
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	hanging := h.hanging
	h.mu.Unlock()
	if hanging {
		select {
		case h.hold <- struct{}{}:
		default:
		}
		<-r.Context().Done()
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id := r.Header.Get("webhook-id")
	unix, _ := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
	if want, err := signing.Sign(id, time.Unix(unix, 0), body, h.secret); err != nil || r.Header.Get("webhook-signature") != want {
		h.wrong = append(h.wrong, id)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct{ Data struct{ Seq int64 } }
	if json.Unmarshal(body, &event) == nil && !h.seen[id] {
		h.seen[id] = true
		h.order = append(h.order, event.Data.Seq)
	}
}

func (h *hook) received() (order []int64, wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]int64(nil), h.order...), append([]string(nil), h.wrong...)
}

// TestKilledOwnerOfDestination kills the replica that delivers events during an
// attempt. The other one delivers all of them, in order.
func TestKilledOwnerOfDestination(t *testing.T) {
	h := &hook{seen: map[string]bool{}, hold: make(chan struct{}, 1), secret: signing.New()}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	binary, dsn := buildGateway(t), modelstest.Postgres(t)
	one, two := newReplica(t, binary, "first replica", dsn), newReplica(t, binary, "second replica", dsn)
	one.start(t)
	one.administer(t, http.MethodPost, "/api/destinations", map[string]string{"name": "Hook", "kind": "webhook", "address": server.URL, "secret": h.secret.Reveal()}, nil)
	groups := 0
	write := func(r *replica, n int) {
		t.Helper()
		for range n {
			groups++
			r.administer(t, http.MethodPost, "/api/groups", map[string]string{"name": fmt.Sprint("group ", groups)}, nil)
		}
	}
	arrive := func(r *replica, n int) {
		t.Helper()
		eventually(t, visitLimit, fmt.Sprint(n, " events arrive"), func(context.Context) error {
			if order, wrong := h.received(); len(order) != n || len(wrong) > 0 {
				return fmt.Errorf("received %d events, %d with a wrong signature", len(order), len(wrong))
			}
			return nil
		}, r.process)
	}
	write(one, 5)
	arrive(one, 6) // with that of the destination: the first replica owns it
	two.start(t)
	h.mu.Lock()
	h.hanging = true
	h.mu.Unlock()
	write(two, 5)
	eventually(t, visitLimit, "an attempt begins", func(context.Context) error {
		select {
		case <-h.hold:
			return nil
		default:
			return fmt.Errorf("no attempt")
		}
	}, one.process)
	if err := one.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-one.ended
	h.mu.Lock()
	h.hanging = false
	h.mu.Unlock()
	write(two, 5)
	arrive(two, 16)
	order, _ := h.received()
	for i, seq := range order {
		if i > 0 && seq != order[i-1]+1 {
			t.Fatalf("audit entries arrived as %v", order)
		}
	}
}
