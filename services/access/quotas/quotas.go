// Package quotas limits the calls of upstream tools per key, user, toolset,
// tool or project (declarative `limits`). Every process counts in memory and
// exchanges its counts with the other processes through the database once per
// second.
package quotas

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// MaxCounters is the number of counters that a process keeps in memory. Beyond
// it, those of idle subjects are dropped; a dropped one starts from 0 until the
// next exchange.
const MaxCounters = 100_000

// Quotas count the calls of upstream tools against the limits of projects. It
// is safe for concurrent use. Calls with different subjects share no lock.
type Quotas struct {
	db  *gorm.DB
	now func() time.Time
	log *slog.Logger
	max int

	counters sync.Map      // subject to *counter
	held     atomic.Int64  // number of counters
	ids      atomic.Uint64 // last id of a counter
	fresh    chan struct{} // receives when a counter became active

	report func(ctx context.Context, e Exceeded) error // nil without one

	mu       sync.Mutex
	active   []*counter // to be exchanged; guarded by mu
	exceeded []Exceeded // to be reported; guarded by mu

	exchanging sync.Mutex // held during an exchange
	swept      time.Time  // guarded by exchanging
}

// New returns quotas that keep at most max counters, usually MaxCounters. Load
// must be called before use, and Run exchanges the counts.
func New(db *gorm.DB, max int, now func() time.Time, log *slog.Logger) *Quotas {
	return &Quotas{db: db, now: now, log: log, max: max, fresh: make(chan struct{}, 1)}
}

// Call is a call of an upstream tool. A limit per key, person or toolset
// doesn't apply to a call without one.
type Call struct {
	Project  *models.Project
	Key      string   // id of the caller's key, or ""
	Person   string   // id of the caller's user, or ""
	Toolsets []string // ids of the caller's toolsets with the tool, without duplicates
	Tool     string   // full exported name
}

// subject identifies a count of a limit. Limits of a project differ in per or
// match.
type subject struct {
	project string
	per     models.LimitPer
	match   string
	id      string // of the key, user or toolset, the name of the tool, or "" for the project
}

// stored returns the subject in the form of models.QuotaUse.
func (s subject) stored() string {
	b, err := json.Marshal([3]string{string(s.per), s.match, s.id})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(b)
}

// subjectOf returns the subject of a row.
func subjectOf(row *models.QuotaUse) (subject, bool) {
	var parts []string
	if json.Unmarshal([]byte(row.Subject), &parts) != nil || len(parts) != 3 {
		return subject{}, false
	}
	return subject{row.ProjectID, models.LimitPer(parts[0]), parts[1], parts[2]}, true
}

// Refusal is the error of a call beyond a limit. It wraps a RATE_LIMITED fault
// with the time to wait.
type Refusal struct{ fault *fault.Fault }

// Error returns the message of the fault.
func (r *Refusal) Error() string { return r.fault.Error() }

// Unwrap returns the fault.
func (r *Refusal) Unwrap() error { return r.fault }

// Refused reports whether err is the refusal of a call.
func Refused(err error) bool {
	var r *Refusal
	return errors.As(err, &r)
}

// charge is a limit that applies to a call, and its counter.
type charge struct {
	limit   *models.Limit
	counter *counter
}

// Allow counts a call against every limit of its project that matches. If one
// is exhausted, it counts nothing and returns a *Refusal. A project without
// limits allows every call.
func (q *Quotas) Allow(call Call) error {
	if len(call.Project.Limits) == 0 {
		return nil
	}
	var room [8]charge
	for {
		charges := q.charges(room[:0], &call)
		if len(charges) == 0 {
			return nil
		}
		if done, err := q.take(charges); done {
			return err
		}
	}
}

// charges appends the charges of a call to dst, in the order in which counters
// are locked.
func (q *Quotas) charges(dst []charge, call *Call) []charge {
	add := func(l *models.Limit, id string) {
		dst = append(dst, charge{l, q.counter(subject{call.Project.ID, l.Per, l.Match, id})})
	}
	for i := range call.Project.Limits {
		l := &call.Project.Limits[i]
		if l.Match != "*" && !toolset.MatchGlob(l.Match, call.Tool) {
			continue
		}
		switch l.Per {
		case models.PerKey:
			if call.Key != "" {
				add(l, call.Key)
			}
		case models.PerPerson:
			if call.Person != "" {
				add(l, call.Person)
			}
		case models.PerToolset:
			for _, id := range call.Toolsets {
				add(l, id)
			}
		case models.PerTool:
			add(l, call.Tool)
		case models.PerProject:
			add(l, "")
		}
	}
	slices.SortFunc(dst, func(a, b charge) int { return cmp.Compare(a.counter.id, b.counter.id) })
	return slices.CompactFunc(dst, func(a, b charge) bool { return a.counter == b.counter })
}

// counter returns the counter of a subject and creates it if necessary.
func (q *Quotas) counter(s subject) *counter {
	if c, ok := q.counters.Load(s); ok {
		return c.(*counter)
	}
	c, loaded := q.counters.LoadOrStore(s, &counter{subject: s, id: q.ids.Add(1)})
	if !loaded {
		q.held.Add(1)
	}
	return c.(*counter)
}

// take counts a call if all charges allow it. It reports false if a counter was
// dropped in the meantime.
func (q *Quotas) take(charges []charge) (done bool, err error) {
	for i := range charges {
		charges[i].counter.mu.Lock()
	}
	defer func() {
		for i := range charges {
			charges[i].counter.mu.Unlock()
		}
	}()
	now := q.now()
	var refused charge
	longest := time.Duration(0)
	for _, c := range charges {
		if c.counter.dropped {
			return false, nil
		}
		if wait := c.counter.wait(c.limit, now); wait > longest {
			refused, longest = c, wait
		}
	}
	if longest > 0 {
		q.noteExceeded(refused)
		return true, refusal(refused.limit, longest, refused.counter.exhausted(refused.limit))
	}
	for _, c := range charges {
		if c.counter.add(now) {
			q.activate(c.counter)
		}
	}
	return true, nil
}

// activate adds a counter to those that are exchanged.
func (q *Quotas) activate(c *counter) {
	q.mu.Lock()
	q.active = append(q.active, c)
	q.mu.Unlock()
	select {
	case q.fresh <- struct{}{}:
	default: // pending
	}
}

// refusal returns the error of a call beyond a limit. daily means that the calls
// of the day are used up.
func refusal(l *models.Limit, wait time.Duration, daily bool) error {
	each := " for each " + string(l.Per)
	if l.Per == models.PerProject {
		each = ""
	}
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "The project allows %g of these calls per second%s. Retry later.", l.PerSecond, each)
	if daily {
		f.Message = fmt.Sprintf("The project allows %d of these calls per day%s. The next day starts at 00:00 UTC.", l.PerDay, each)
	}
	f.RetryAfter = wait
	return &Refusal{f}
}
