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

// callColumns are the columns of the log in the order in which calls are
// written.
const callColumns = "id, at, project_id, principal, tool, server, duration_us, request_bytes, response_bytes, outcome, code, request_id"

// take returns the calls that wait, in the order of their times. They are good
// until giveBack.
func (c *Calls) take() []*models.Call {
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

// giveBack lets the room of what was taken be used again: about as many calls
// will come until the next turn.
func (c *Calls) giveBack() {
	for i := range c.shards {
		shard := &c.shards[i]
		clear(shard.taken)
		if cap(shard.taken) > keptRoom {
			shard.taken = nil
		}
	}
}

// putBack lets calls wait again.
func (c *Calls) putBack(calls []*models.Call) {
	shard := &c.shards[0]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	for _, call := range calls {
		shard.calls = append(shard.calls, *call)
	}
}

// write stores what waits. What cannot be stored is put back, so that an
// outage of the database loses no more than what does not fit.
func (c *Calls) write(ctx context.Context) {
	defer c.giveBack()
	for calls := c.take(); len(calls) > 0; {
		batch := calls[:min(len(calls), callsPerWrite)]
		c.prepare(batch)
		if err := c.store(ctx, batch); err != nil {
			c.putBack(calls)
			if ctx.Err() == nil {
				c.log.Warn("calls were not written yet", "calls", len(calls), "error", err)
			}
			return
		}
		c.waiting.Add(-int64(len(batch)))
		calls = calls[len(batch):]
	}
	if lost := c.lost.Load(); lost > 0 && c.waiting.Load() == 0 {
		c.log.Warn("calls are missing from the log: they came faster than the database takes them", "lost_since_start", lost)
	}
}

// prepare gives calls their IDs and makes them what both databases take. Calls
// are put in order by the full time, and stored as fine as both keep it. One
// text that a database refuses would keep all others from being stored.
func (c *Calls) prepare(calls []*models.Call) {
	without := 0
	for _, call := range calls {
		if call.ID == "" {
			without++
		}
	}
	ids := c.ids.next(time.Now(), without)
	before := &models.Call{} // most texts are those of the call before, which need no second look
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
		before = call
	}
}

// makeStorable makes a text storable, as the one before it is already.
func makeStorable(text *string, before string) {
	if *text != before {
		*text = storable(*text)
	}
}

// storable returns text without what no text column of PostgreSQL takes.
func storable(text string) string {
	if strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// store writes calls in one transaction, past the ORM: of all that the gateway
// writes, only this is written at the rate of the calls. A call that is there
// already, because the answer to an earlier try was lost, stays as it is. What
// calls were about goes first, so that no call is there without.
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

// storeInPostgres writes calls with one short statement, which the connection
// keeps prepared, whatever their number: each column travels as an array.
func storeInPostgres(ctx context.Context, pool *sql.DB, calls []*models.Call) error {
	n := len(calls)
	var (
		at                                                           = make([]time.Time, n)
		id, project, principal, tool, server, outcome, code, request = make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		duration, asked, answered                                    = make([]int64, n), make([]int64, n), make([]int64, n)
	)
	for i, call := range calls {
		id[i], at[i], project[i], principal[i], tool[i], server[i] = call.ID, call.At, call.ProjectID, call.Principal, call.Tool, call.Server
		duration[i], asked[i], answered[i] = call.DurationUS, call.RequestBytes, call.ResponseBytes
		outcome[i], code[i], request[i] = string(call.Outcome), call.Code, call.RequestID
	}
	_, err := pool.ExecContext(ctx, "INSERT INTO calls ("+callColumns+") SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], "+
		"$7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[]) ON CONFLICT (id) DO NOTHING",
		id, at, project, principal, tool, server, duration, asked, answered, outcome, code, request)
	return err
}
