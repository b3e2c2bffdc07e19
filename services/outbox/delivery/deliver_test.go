package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

func TestEventsArriveInOrder(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		w.raise("x", 1, 230)
		w.raise("y", 0, 3)
		w.raise("x", 231, 232)
		w.run(d.ID, time.Second)
		got := r.numbers()
		if len(got) != 232 || !slices.IsSorted(got) || got[231] != 232 {
			t.Errorf("received %d events: %v", len(got), got)
		}
		row := w.row(d.ID)
		if row.Delivered != 232 || row.LastStatus != 200 || row.Failures != 0 {
			t.Errorf("row = %+v", row)
		}
	})
}

// TestFailuresAreRetried has a receiver that fails for 10 minutes in every way.
func TestFailuresAreRetried(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, attempt){
		"500":      status(500, "no"),
		"redirect": func(w http.ResponseWriter, _ attempt) { w.Header().Set("Location", "/other"); w.WriteHeader(307) },
		"dies":     func(http.ResponseWriter, attempt) { panic(http.ErrAbortHandler) },
		"400":      status(400, ""),
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				r := w.receive()
				d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
				w.raise("x", 1, 3)
				r.respond(answer)
				w.run(d.ID, 10*time.Minute)
				var gaps []string
				for i := 1; i < len(r.got()); i++ {
					gaps = append(gaps, r.got()[i].at.Sub(r.got()[i-1].at).String())
				}
				if got := strings.Join(gaps, " "); got != "10s 20s 40s 1m20s 2m40s" {
					t.Errorf("pauses = %s", got)
				}
				row := w.row(d.ID)
				if row.Failures != 6 || !row.FailingSince.Equal(noon) || row.LastReply == "" && row.LastStatus == 0 {
					t.Errorf("row = %+v", row)
				}
				r.respond(status(204, ""))
				w.run(d.ID, time.Hour)
				if got := fmt.Sprint(r.numbers()[5:]); got != "[1 1 2 3]" {
					t.Errorf("received %s", got)
				}
				if row := w.row(d.ID); row.Failures != 0 || row.FailingSince != nil || row.NextAt != nil || row.Delivered != 3 {
					t.Errorf("row after the outage = %+v", row)
				}
			})
		})
	}
}

func TestSlowReceiverIsRetried(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		w.deliveries.sender.timeout = 200 * time.Millisecond
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		w.raise("x", 1, 2)
		r.respond(func(_ http.ResponseWriter, a attempt) { <-a.done })
		w.run(d.ID, 15*time.Second)
		if row := w.row(d.ID); row.Failures != 2 || row.LastReply != "no complete response in time" || row.Delivered != 0 {
			t.Errorf("row = %+v", row)
		}
		w.deliveries.sender.timeout = attemptTimeout
		r.respond(status(200, ""))
		w.run(d.ID, time.Hour)
		if got := r.numbers(); !slices.Equal(got[len(got)-2:], []int{1, 2}) {
			t.Errorf("received %v", got)
		}
	})
}

func TestRetryDelays(t *testing.T) {
	for failures, want := range map[int64]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 9: 2560 * time.Second, 10: time.Hour, 1_000_000: time.Hour} {
		if got := retryAfter(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}

// TestEventDiesAfterADay: an event that is refused holds the later ones until it
// is a dead letter, and can be sent again.
func TestEventDiesAfterADay(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		refuse := true
		r.respond(func(out http.ResponseWriter, a attempt) {
			if a.Data.N == 2 && refuse {
				status(422, "wrong")(out, a)
			}
		})
		w.raise("x", 1, 3)
		w.run(d.ID, retryTime-time.Millisecond)
		if got := r.numbers(); got[len(got)-1] != 2 {
			t.Errorf("received %v", got)
		}
		w.run(d.ID, 2*lastRetry)
		if got := r.numbers(); got[len(got)-1] != 3 {
			t.Errorf("received %v", got)
		}
		dead, err := w.store.DeadLetters(t.Context(), d.ID, 10)
		if err != nil || len(dead) != 1 || dead[0].Body != `{"n":2}` || dead[0].Reason != "HTTP 422: wrong" {
			t.Fatalf("dead letters = %+v, %v", dead, err)
		}
		if queued, err := w.store.Retry(t.Context(), d.ID, dead[0].ID); queued != 1 || err != nil {
			t.Errorf("Retry = %d, %v", queued, err)
		}
		w.run(d.ID, time.Minute)
		if dead, _ = w.store.DeadLetters(t.Context(), d.ID, 10); len(dead) != 1 || dead[0].AgainAt != nil {
			t.Errorf("after a failed attempt: %+v", dead)
		}
		refuse = false
		if queued, err := w.store.Retry(t.Context(), d.ID, ""); queued != 1 || err != nil {
			t.Errorf("Retry = %d, %v", queued, err)
		}
		w.run(d.ID, time.Minute)
		if dead, _ = w.store.DeadLetters(t.Context(), d.ID, 10); len(dead) != 0 || w.row(d.ID).Delivered != 3 {
			t.Errorf("after the delivery: %+v", dead)
		}
		if _, err := w.store.Retry(t.Context(), d.ID, "gone"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("unknown event: %v", err)
		}
	})
}

// TestDeadDestinationKeepsUp: events of a destination that stays down die a day
// after they were raised, not one day after another.
func TestDeadDestinationKeepsUp(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		r.respond(status(503, ""))
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		for hour := range 5 {
			w.raise("x", hour, hour)
			w.run(d.ID, time.Hour)
		}
		w.run(d.ID, retryTime+time.Hour)
		if dead, _ := w.store.DeadLetters(t.Context(), d.ID, 10); len(dead) != 5 {
			t.Errorf("%d dead letters, want 5", len(dead))
		}
		attempts := len(r.got())
		w.run(d.ID, retryTime)
		if len(r.got()) != attempts {
			t.Errorf("%d attempts without an event", len(r.got())-attempts)
		}
	})
}

// TestRestartContinues: another worker continues after the stored position.
func TestRestartContinues(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		w.raise("x", 1, 5)
		ctx, cancel := context.WithCancel(t.Context())
		r.respond(func(_ http.ResponseWriter, a attempt) {
			if a.Data.N == 3 {
				cancel() // the process ends before it receives the response
			}
		})
		if _, err := (&worker{Deliveries: w.deliveries, id: d.ID}).step(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		w.run(d.ID, time.Second)
		if got := fmt.Sprint(r.numbers()); got != "[1 2 3 3 4 5]" {
			t.Errorf("received %s", got)
		}
	})
}

func TestInactiveDestinationGetsNothing(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		d, _ := w.to(models.DestinationWebhook, r.URL, "kind:x")
		w.another(r.URL)
		w.raise("x", 1, 1)
		w.active(d.ID, false)
		w.raise("x", 2, 2)
		if _, err := (&worker{Deliveries: w.deliveries, id: d.ID}).step(t.Context()); !errors.Is(err, errGone) {
			t.Errorf("step = %v", err)
		}
		w.active(d.ID, true)
		w.raise("x", 3, 3)
		w.run(d.ID, time.Second)
		if got := fmt.Sprint(r.numbers()); got != "[3]" {
			t.Errorf("received %s", got)
		}
	})
}

func TestSweepKeepsWhatWaits(t *testing.T) {
	each(t, func(w *world) {
		r := w.receive()
		d, _ := w.to(models.DestinationWebhook, r.URL, "")
		count := func() (n int64) {
			w.db.Model(&models.OutboxEvent{}).Count(&n)
			return n
		}
		w.raise("x", 1, 3)
		w.run(d.ID, time.Second)
		w.raise("x", 4, 5)
		if err := w.deliveries.Sweep(t.Context()); err != nil || count() != 2 {
			t.Errorf("%d events after the sweep, want 2: %v", count(), err)
		}
		w.active(d.ID, false)
		if err := w.deliveries.Sweep(t.Context()); err != nil || count() != 0 {
			t.Errorf("%d events without a destination: %v", count(), err)
		}
	})
}

func TestWaitingEventsAreLimited(t *testing.T) {
	each(t, func(w *world) {
		w.to(models.DestinationWebhook, "http://127.0.0.1:1", "")
		const limit = 10
		for _, tt := range []struct{ events, want, dropped int64 }{{limit - 1, limit - 1, 0}, {1, limit, 0}, {1, limit, 1}} {
			if tt.events > 1 { // the oldest one is an audit entry
				w.raise("audit", 0, 0)
				w.db.Model(&models.OutboxEvent{}).Where("kind = 'audit'").Update("audit", true)
				tt.events--
			}
			w.raise("x", 1, int(tt.events))
			if err := w.deliveries.sweep(t.Context(), limit, limit); err != nil {
				t.Fatal(err)
			}
			var count, audits int64
			w.db.Model(&models.OutboxEvent{}).Count(&count)
			w.db.Model(&models.OutboxEvent{}).Where("audit").Count(&audits)
			if count != tt.want || audits != 1 || w.deliveries.Stats().Dropped != tt.dropped {
				t.Errorf("%d events, %d audits, %d dropped; want %d, 1, %d", count, audits, w.deliveries.Stats().Dropped, tt.want, tt.dropped)
			}
		}
	})
}

func TestDeadLettersAreLimited(t *testing.T) {
	each(t, func(w *world) {
		d, _ := w.to(models.DestinationWebhook, "http://127.0.0.1:1", "")
		for n := range 4 {
			letter := models.DeadLetter{ID: fmt.Sprint(n), DestinationID: d.ID, Seq: int64(n), Kind: "x", Body: "{}", At: noon, DiedAt: noon}
			if err := w.db.Create(&letter).Error; err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			limit int64
			after time.Duration
			want  int
		}{{5, 0, 4}, {4, DeadTime, 4}, {3, DeadTime, 3}, {3, DeadTime + time.Millisecond, 0}} {
			w.set(noon.Add(tt.after))
			if err := w.deliveries.sweep(t.Context(), 1, tt.limit); err != nil {
				t.Fatal(err)
			}
			if dead, _ := w.store.DeadLetters(t.Context(), d.ID, 10); len(dead) != tt.want {
				t.Errorf("limit %d: %d letters, want %d", tt.limit, len(dead), tt.want)
			}
		}
	})
}
