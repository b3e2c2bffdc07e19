package activity

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// How the log of calls is written and how much of it is kept.
const (
	// CallRetention is how long calls are kept.
	CallRetention = 7 * 24 * time.Hour
	// MaxCalls is how many calls are kept at most.
	MaxCalls = 2_000_000

	writeInterval = time.Second
	callsPerWrite = 2_500  // rows of one transaction: a little more than enough, and soon done for other writers and on slow machines
	maxWaiting    = 50_000 // calls that wait to be written, beyond which new ones are lost
	enoughWaiting = 2_000  // calls that are not left waiting for the interval to end
	keptRoom      = 1_024  // calls of a shard for which room is kept between writes
	callsPerSweep = 2_000  // rows of one deletion, for the same reason
	lastWrite     = 5 * time.Second
)

// Calls is the log of tool calls. A call costs its caller one short lock that
// it shares with few others; the database is written in batches by Run.
type Calls struct {
	db   *gorm.DB
	now  func() time.Time
	log  *slog.Logger
	wake chan struct{}
	ids  callIDs // of who writes

	shards   []callShard
	waiting  atomic.Int64
	payloads atomic.Int64 // of those that wait
	lost     atomic.Int64
}

type callShard struct {
	mu    sync.Mutex
	calls []models.Call
	taken []models.Call // by who writes, and by nobody else
	_     [64]byte      // two shards never share a cache line
}

// NewCalls returns the log of the database. Nothing is written until Run.
func NewCalls(db *gorm.DB, now func() time.Time, log *slog.Logger) *Calls {
	return &Calls{db: db, now: now, log: log, wake: make(chan struct{}, 1), shards: make([]callShard, max(2, 2*runtime.GOMAXPROCS(0)))}
}

// Record adds a call, whose ID it gives. It never waits for the database; when
// that cannot keep up, calls are lost and counted.
func (c *Calls) Record(call models.Call) {
	waiting := c.waiting.Add(1)
	if waiting > maxWaiting {
		c.waiting.Add(-1)
		c.lost.Add(1)
		return
	}
	c.admitPayload(&call)
	shard := &c.shards[rand.IntN(len(c.shards))]
	shard.mu.Lock()
	shard.calls = append(shard.calls, call)
	shard.mu.Unlock()
	if waiting == enoughWaiting {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Lost returns how many calls could not be recorded since the start.
func (c *Calls) Lost() int64 { return c.lost.Load() }

// Run writes what Record was given until the context ends; then it writes what
// is left.
func (c *Calls) Run(ctx context.Context) {
	write := time.NewTicker(writeInterval)
	defer write.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			c.write(last)
			return
		case <-write.C:
			c.write(ctx)
		case <-c.wake:
			c.write(ctx)
		}
	}
}

// Sweep removes calls that are older than CallRetention and the oldest beyond
// MaxCalls, and of what they were about what is older than PayloadRetention. It returns the database's failure as an INTERNAL fault.
func (c *Calls) Sweep(ctx context.Context) error {
	if err := c.removeOldest(ctx, "at < ?", c.now().UTC().Add(-CallRetention)); err != nil {
		return err
	}
	var oldest []string
	err := c.db.WithContext(ctx).Model(&models.Call{}).Order("id DESC").Offset(MaxCalls).Limit(1).Pluck("id", &oldest).Error
	if err != nil {
		return fault.Internal(err)
	}
	if len(oldest) > 0 {
		if err := c.removeOldest(ctx, "id <= ?", oldest[0]); err != nil {
			return err
		}
	}
	return c.sweepPayloads(ctx)
}

// removeOldest removes those that match among the first calls, until none of
// them does. Ids grow with time, so what follows them matches neither.
func (c *Calls) removeOldest(ctx context.Context, condition string, value any) error {
	for {
		first := c.db.Model(&models.Call{}).Select("id").Order("id").Limit(callsPerSweep)
		done := c.db.WithContext(ctx).Where("id IN (?)", first).Where(condition, value).Delete(&models.Call{})
		if done.Error != nil {
			return fault.Internal(done.Error)
		}
		if done.RowsAffected == 0 {
			return nil
		}
	}
}
