package delivery

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/egress"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// attempt is a request that a receiver got.
type attempt struct {
	at     time.Time // virtual
	header http.Header
	body   string
	done   <-chan struct{} // closed when the sender gives up
	Type   string
	Data   struct{ N int }
}

// receiver records requests and responds with a function.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	all  []attempt
	with func(w http.ResponseWriter, a attempt)
}

// world is a gateway with a virtual clock.
type world struct {
	*testing.T
	clock
	db         *gorm.DB
	events     *outbox.Events
	store      *destinations.Store
	deliveries *Deliveries
	keys       *secrets.KeyRing
}

// clock is a virtual clock, also read by receivers.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func each(t *testing.T, f func(w *world)) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) { f(newWorld(t, db)) })
}

func newWorld(t *testing.T, db *gorm.DB) *world {
	keys, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}))
	t.Cleanup(clients.Close)
	w := &world{T: t, clock: clock{now: noon}, db: db, keys: keys}
	w.events = outbox.New(db, w.Now)
	w.store = destinations.NewStore(destinations.Options{DB: db, Audit: activity.NewAudit(db, w.Now), Keys: keys, CheckURL: egress.CheckURL, Now: w.Now})
	sender := NewSender(clients.Events(), keys, "https://gateway.example", "1", w.Now)
	w.deliveries = New(Options{DB: db, Sender: sender, HasFile: true, Now: w.Now, Log: slog.New(slog.DiscardHandler)})
	return w
}

// receive starts a receiver that accepts everything at first.
func (w *world) receive() *receiver {
	r := &receiver{with: func(http.ResponseWriter, attempt) {}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		r.mu.Lock()
		a := attempt{at: w.Now(), header: in.Header, body: string(body), done: in.Context().Done()}
		_ = json.Unmarshal(body, &a)
		r.all = append(r.all, a)
		respond := r.with
		r.mu.Unlock()
		respond(out, a)
	}))
	w.Cleanup(r.Close)
	return r
}

// respond sets the response to later requests.
func (r *receiver) respond(with func(http.ResponseWriter, attempt)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.with = with
}

// got returns the requests so far.
func (r *receiver) got() []attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// numbers returns the received numbers of events.
func (r *receiver) numbers() []int {
	var all []int
	for _, a := range r.got() {
		all = append(all, a.Data.N)
	}
	return all
}

// to creates a destination of the kind at an address.
func (w *world) to(kind models.DestinationKind, address string, filter string) (models.Destination, secrets.Value) {
	w.Helper()
	row, secret, err := w.store.Create(w.Context(), destinations.New{Name: w.Name(), Kind: kind, Address: secrets.NewValue(address), Filter: filter})
	if err != nil {
		w.Fatal(err)
	}
	return row, secret
}

// raise adds events with the numbers from first to last.
func (w *world) raise(kind string, first, last int) {
	w.Helper()
	for n := first; n <= last; n++ {
		if err := w.events.AddNow(w.Context(), outbox.Event{Kind: kind, Project: "work", Data: map[string]int{"n": n}}); err != nil {
			w.Fatal(err)
		}
	}
}

// run delivers for a virtual time.
func (w *world) run(id string, d time.Duration) {
	w.Helper()
	worker := &worker{Deliveries: w.deliveries, id: id}
	for end := w.Now().Add(d); ; {
		wait, err := worker.step(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		idle := wait > 0
		switch row := w.row(id); { // skip the steps in which nothing happens
		case row.NextAt != nil:
			wait = max(wait, min(row.NextAt.Sub(w.Now()), end.Sub(w.Now())))
		case idle:
			wait = end.Sub(w.Now())
		}
		if idle && !w.Now().Add(wait).Before(end) {
			w.set(end)
			return
		}
		w.set(w.Now().Add(wait))
	}
}

func (w *world) row(id string) models.Destination {
	w.Helper()
	row, err := w.store.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return row
}

func status(code int, text string) func(http.ResponseWriter, attempt) {
	return func(w http.ResponseWriter, _ attempt) {
		w.WriteHeader(code)
		_, _ = io.Copy(w, strings.NewReader(text))
	}
}

// another creates another destination, so that events are stored while one is off.
func (w *world) another(address string) {
	w.Helper()
	_, _, err := w.store.Create(w.Context(), destinations.New{Name: "another", Kind: models.DestinationSlack, Address: secrets.NewValue(address)})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) active(id string, on bool) {
	w.Helper()
	if _, err := w.store.Update(w.Context(), id, destinations.Change{Active: &on}); err != nil {
		w.Fatal(err)
	}
}
