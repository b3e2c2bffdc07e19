package activity

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mcpgateway/models"
)

// callColumns are the columns of a call in the order of writing.
const callColumns = "id, at, project_id, principal, tool, server, duration_us, request_bytes, response_bytes, outcome, code, request_id, toolset, user_id"

// dequeue returns the queued calls ordered by time. They are valid until recycle.
func (c *Calls) dequeue() []*models.Call {
	type timed struct {
		ns   int64
		call *models.Call
	}
	taken := make([]timed, 0, c.waiting.Load())
	for i := range c.shards {
		shard := &c.shards[i]
		shard.mu.Lock()
		shard.calls, shard.taken = shard.taken[:0], shard.calls
		shard.mu.Unlock()
		for j := range shard.taken {
			call := &shard.taken[j]
			taken = append(taken, timed{call.At.UnixNano(), call})
		}
	}
	slices.SortFunc(taken, func(a, b timed) int { return cmp.Compare(a.ns, b.ns) })
	calls := make([]*models.Call, len(taken))
	for i, one := range taken {
		calls[i] = one.call
	}
	return calls
}

// recycle returns the buffers of dequeued calls to their shards.
func (c *Calls) recycle() {
	for i := range c.shards {
		shard := &c.shards[i]
		clear(shard.taken)
		if cap(shard.taken) > keptRoom {
			shard.taken = nil
		}
	}
}

// requeue queues calls again.
func (c *Calls) requeue(calls []*models.Call) {
	shard := &c.shards[0]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for _, call := range calls {
		shard.calls = append(shard.calls, *call)
	}
}

// write stores the queued calls. After a failure they are queued again, so that
// a database outage loses only calls beyond the queue's limit.
func (c *Calls) write(ctx context.Context) {
	defer c.recycle()
	for calls := c.dequeue(); len(calls) > 0; {
		batch := calls[:min(len(calls), callsPerWrite)]
		c.prepare(batch)
		if err := c.store(ctx, batch); err != nil {
			c.requeue(calls)
			if ctx.Err() == nil {
				c.log.Warn("call log write failed", "calls", len(calls), "error", err)
			}
			return
		}
		c.waiting.Add(-int64(len(batch)))
		calls = calls[len(batch):]
	}
	if lost := c.lost.Load(); lost > 0 && c.waiting.Load() == 0 {
		c.log.Warn("call log overflow", "lost_since_start", lost)
	}
}

// prepare sets ids and makes the calls storable in both databases. Calls are
// ordered by their full time, which is then truncated to the stored precision.
// A text that a database rejects would block all others.
func (c *Calls) prepare(calls []*models.Call) {
	without := 0
	for _, call := range calls {
		if call.ID == "" {
			without++
		}
	}
	ids := c.ids.next(time.Now(), without)
	before := &models.Call{} // most texts equal the previous call's, which are already storable
	for _, call := range calls {
		call.At = call.At.UTC().Truncate(time.Millisecond)
		if call.ID == "" {
			call.ID, ids = ids[0], ids[1:]
		}
		makeStorable(&call.ProjectID, before.ProjectID)
		makeStorable(&call.Principal, before.Principal)
		makeStorable(&call.Tool, before.Tool)
		makeStorable(&call.Server, before.Server)
		makeStorable(&call.Code, before.Code)
		makeStorable(&call.RequestID, before.RequestID)
		makeStorable(&call.Toolset, before.Toolset)
		makeStorable(&call.UserID, before.UserID)
		before = call
	}
}

// makeStorable removes unstorable characters from a text. before is storable.
func makeStorable(text *string, before string) {
	if *text != before {
		*text = storable(*text)
	}
}

// storable returns text without characters that PostgreSQL's text rejects.
func storable(text string) string {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// store writes calls in one transaction without the ORM, because only this runs
// at the rate of calls. A call that exists, because the response to an earlier
// attempt was lost, is unchanged. Payloads are written first, so that no call
// lacks its payload.
func (c *Calls) store(ctx context.Context, calls []*models.Call) error {
	pool, err := c.db.DB()
	if err != nil {
		return err
	}
	insert := storeInPostgres
	if c.db.Name() == "sqlite" {
		insert = storeInSQLite
	}
	if err := c.storePayloads(ctx, calls); err != nil {
		return err
	}
	if err := insert(ctx, pool, calls); err != nil {
		return err
	}
	c.payloads.Add(-payloadsOf(calls))
	return nil
}

// storeInPostgres writes calls, and adds new ones to the numbers of their days,
// with one short statement that stays prepared for any number of calls: each
// column is sent as an array.
func storeInPostgres(ctx context.Context, pool *sql.DB, calls []*models.Call) error {
	n := len(calls)
	var (
		at                                                           = make([]time.Time, n)
		id, project, principal, tool, server, outcome, code, request = make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		toolset, user                                                = make([]string, n), make([]string, n)
		duration, asked, answered                                    = make([]int64, n), make([]int64, n), make([]int64, n)
	)
	for i, call := range calls {
		id[i], at[i], project[i], principal[i], tool[i], server[i] = call.ID, call.At, call.ProjectID, call.Principal, call.Tool, call.Server
		duration[i], asked[i], answered[i] = call.DurationUS, call.RequestBytes, call.ResponseBytes
		outcome[i], code[i], request[i], toolset[i], user[i] = string(call.Outcome), call.Code, call.RequestID, call.Toolset, call.UserID
	}
	_, err := pool.ExecContext(ctx, "WITH added AS (INSERT INTO calls ("+callColumns+") SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], "+
		"$7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[]) ON CONFLICT (id) DO NOTHING RETURNING *) "+usageInPostgres,
		id, at, project, principal, tool, server, duration, asked, answered, outcome, code, request, toolset, user)
	return err
}
