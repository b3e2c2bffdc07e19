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
)

// Limits of the call log and of its writer.
const (
	// MaxCalls is the maximum number of stored calls.
	MaxCalls = 2_000_000

	writeInterval     = time.Second
	callsPerWrite     = 2_500  // rows per transaction; small, so that other writers don't wait for long
	maxWaiting        = 50_000 // queued calls; beyond it, new ones are dropped
	flushThreshold    = 2_000  // queued calls that trigger a write before the interval ends
	keptRoom          = 1_024  // retained capacity of a shard, in calls
	callsPerSweep     = 2_000  // rows per deletion, for the same reason
	finalWriteTimeout = 5 * time.Second
)

// Calls is the log of tool calls. Recording a call takes one short, sharded
// lock; Run writes batches to the database.
type Calls struct {
	db   *gorm.DB
	now  func() time.Time
	log  *slog.Logger
	wake chan struct{}
	ids  callIDs // used only by the writer

	shards   []callShard
	waiting  atomic.Int64
	payloads atomic.Int64 // queued payloads
	lost     atomic.Int64
}

type callShard struct {
	mu    sync.Mutex
	calls []models.Call
	taken []models.Call // used only by the writer
	_     [64]byte      // keeps shards on separate cache lines
}

// NewCalls returns the call log of the database. Run must be called to write
// it.
func NewCalls(db *gorm.DB, now func() time.Time, log *slog.Logger) *Calls {
	return &Calls{db: db, now: now, log: log, wake: make(chan struct{}, 1), shards: make([]callShard, max(2, 2*runtime.GOMAXPROCS(0)))}
}

// Record queues a call. The writer assigns its ID. Record never waits for the
// database. If the queue is full, the call is dropped and counted.
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
	if waiting == flushThreshold {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Dropped returns the number of calls dropped since the start.
func (c *Calls) Dropped() int64 { return c.lost.Load() }

// Run writes recorded calls until ctx ends, and then the rest of the queue.
func (c *Calls) Run(ctx context.Context) {
	write := time.NewTicker(writeInterval)
	defer write.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalWriteTimeout)
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
