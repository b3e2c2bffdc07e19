package delivery

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
)

// ownersInterval is the interval between looks for new destinations.
const ownersInterval = 2 * time.Second

// Leaders runs work in one process at a time. Implemented by locks.Locks.
type Leaders interface {
	RunAsLeader(ctx context.Context, name string, work func(context.Context))
}

// Options are the dependencies of deliveries. HasFile reports whether this process has
// GATEWAY_OUTBOX_FILE; others leave the file to it.
type Options struct {
	DB      *gorm.DB
	Leaders Leaders
	Sender  *Sender
	HasFile bool
	Now     func() time.Time
	Log     *slog.Logger
	Tasks   *background.Tasks
}

// Deliveries deliver events. They are safe for concurrent use.
type Deliveries struct {
	db      *gorm.DB
	leaders Leaders
	sender  *Sender
	hasFile bool
	now     func() time.Time
	log     *slog.Logger
	tasks   *background.Tasks

	delivered, failures, dead, dropped atomic.Int64
	waiting                            sync.Map // waitingEvents by id of the destinations that this process owns
}

// New returns deliveries. Run must be called.
func New(o Options) *Deliveries {
	return &Deliveries{db: o.DB, leaders: o.Leaders, sender: o.Sender, hasFile: o.HasFile, now: o.Now, log: o.Log, tasks: o.Tasks}
}

// Stats are counters of this process since its start, and the events that wait for
// each destination that it owns.
type Stats struct {
	Delivered, Failed, Dead, Dropped int64
	Waiting                          map[string]int64
}

// Stats returns the counters.
func (d *Deliveries) Stats() Stats {
	s := Stats{Delivered: d.delivered.Load(), Failed: d.failures.Load(), Dead: d.dead.Load(), Dropped: d.dropped.Load(), Waiting: map[string]int64{}}
	d.waiting.Range(func(_, value any) bool {
		w := value.(waitingEvents)
		s.Waiting[w.destination] = w.events
		return true
	})
	return s
}

// waitingEvents is the number of events behind the position of a destination.
type waitingEvents struct {
	destination string // its name
	events      int64
}

// Run delivers events until the context ends. Of all processes, one owns each
// destination.
func (d *Deliveries) Run(ctx context.Context) {
	owners := map[string]context.CancelFunc{}
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(ownersInterval)
	defer tick.Stop()
	failed := false
	for {
		ids, err := d.active(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			d.log.Warn("destinations not read", "error", err)
		}
		if failed = err != nil; !failed {
			for id, cancel := range owners {
				if !ids[id] {
					cancel()
					delete(owners, id)
				}
			}
			for id := range ids {
				if owners[id] == nil {
					own, cancel := context.WithCancel(ctx)
					owners[id] = cancel
					name := "destination " + id
					running.Go(d.tasks.Loop(own, name, func(ctx context.Context) {
						d.leaders.RunAsLeader(ctx, name, func(ctx context.Context) { d.own(ctx, id) })
					}))
				}
			}
		}
		select {
		case <-ctx.Done():
			for _, cancel := range owners {
				cancel()
			}
			return
		case <-tick.C:
		}
	}
}

// active returns the destinations that this process can deliver to.
func (d *Deliveries) active(ctx context.Context) (map[string]bool, error) {
	var rows []models.Destination
	if err := d.db.WithContext(ctx).Select("id", "kind").Find(&rows, "active").Error; err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, row := range rows {
		if row.Kind != models.DestinationFile || d.hasFile {
			ids[row.ID] = true
		}
	}
	return ids, nil
}

// own delivers to a destination until the context ends or it is gone.
func (d *Deliveries) own(ctx context.Context, id string) {
	w := &worker{Deliveries: d, id: id}
	defer d.waiting.Delete(id)
	failed := false
	for ctx.Err() == nil {
		wait, err := w.step(ctx)
		switch {
		case errors.Is(err, errGone):
			wait = pollInterval // until Run ends it, or it is back
		case err != nil && ctx.Err() == nil && !failed:
			d.log.Warn("deliveries interrupted", "destination", w.row.Name, "error", err)
		}
		failed = err != nil
		w.count(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// count stores the number of waiting events for Stats from time to time.
func (w *worker) count(ctx context.Context) {
	now := w.now()
	if w.row.ID == "" || now.Sub(w.counted) < countInterval {
		return
	}
	var n int64
	if w.db.WithContext(ctx).Model(&models.OutboxEvent{}).Where("seq > ?", w.row.Position).Count(&n).Error == nil {
		w.counted = now
		w.waiting.Store(w.id, waitingEvents{w.row.Name, n})
	}
}

// Test sends an event of the kind destination.test to a destination at once,
// whether it is active or not, and returns the response. It stores nothing.
func (d *Deliveries) Test(ctx context.Context, to *models.Destination) Reply {
	if to.Kind == models.DestinationFile && !d.hasFile {
		return Reply{Err: fault.Conflict("This replica has no GATEWAY_OUTBOX_FILE."), Text: "this replica has no GATEWAY_OUTBOX_FILE"}
	}
	return d.sender.Send(ctx, to, []models.OutboxEvent{{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: outbox.Test, At: d.now(), Body: `{"message":"This is a test event."}`,
	}})
}

// statusText returns a failed reply in one line.
func statusText(reply Reply) string {
	switch {
	case reply.Status == 0:
		return reply.Text
	case reply.Text == "":
		return "HTTP " + strconv.Itoa(reply.Status)
	}
	return clean("HTTP " + strconv.Itoa(reply.Status) + ": " + reply.Text)
}
