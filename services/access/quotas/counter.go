package quotas

import (
	"math"
	"sync"
	"time"

	"mcpgateway/models"
)

// settled is the minimum time without calls, in any process, after which a
// counter with a full bucket is no longer exchanged.
const settled = 10 * time.Second

const secondsPerDay = 24 * 60 * 60

// counter counts the calls of one subject. The fields below mu are guarded by
// it.
type counter struct {
	subject subject
	id      uint64 // counters are locked in ascending order

	mu       sync.Mutex
	today    dayUse
	before   dayUse // calls of an earlier day that are not stored yet; usually zero
	bucket   bucket
	used     time.Time // of the last call in any process, as far as known
	daily    bool      // a limit with calls per day used the counter
	reported int64     // day whose used up limit was noted
	active   bool      // in Quotas.active
	known    bool      // today.seen is current, so that its growth is others' calls
	dropped  bool      // no longer in Quotas.counters
}

// dayUse are the calls of a subject on one day.
type dayUse struct {
	day     int64 // since 1970-01-01
	seen    int64 // total of all processes as last read
	pending int64 // calls of this process that are not in seen
}

// bucket is a token bucket.
type bucket struct {
	perSecond, burst float64 // 0 without a rate
	tokens           float64 // negative if other processes used more than there were
	lost             float64 // tokens above burst since the last exchange
	at               time.Time
}

// dayOf returns the day of a time in UTC.
func dayOf(t time.Time) int64 { return t.Unix() / secondsPerDay }

// dayName returns a day in the form of models.QuotaUse.
func dayName(day int64) string { return time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly) }

// turn begins a new day.
func (c *counter) turn(now time.Time) {
	day := dayOf(now)
	if day <= c.today.day {
		return
	}
	if c.today.pending > 0 {
		c.before = c.today
	}
	c.today = dayUse{day: day}
}

// wait returns the time until the limit allows a call, or 0.
func (c *counter) wait(l *models.Limit, now time.Time) time.Duration {
	c.turn(now)
	c.daily = c.daily || l.PerDay > 0
	c.bucket.refill(l, now)
	if c.exhausted(l) {
		return time.Unix((c.today.day+1)*secondsPerDay, 0).Sub(now)
	}
	return c.bucket.wait()
}

// exhausted reports whether the calls of the day are used up.
func (c *counter) exhausted(l *models.Limit) bool {
	return l.PerDay > 0 && c.today.seen+c.today.pending >= l.PerDay
}

// add counts a call. It reports whether the counter became active.
func (c *counter) add(now time.Time) bool {
	c.today.pending++
	c.bucket.take(1)
	c.used = now
	activated := !c.active
	c.active = true
	return activated
}

// refill adds the tokens since the last refill, with the rate of a limit. A new
// bucket is full.
func (b *bucket) refill(l *models.Limit, now time.Time) {
	burst := burstOf(l)
	if b.perSecond == 0 {
		b.tokens, b.lost = burst, 0
	} else if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens += passed * b.perSecond
	}
	b.at, b.perSecond, b.burst = now, l.PerSecond, burst
	if over := b.tokens - burst; over > 0 {
		b.tokens = burst
		b.lost += over
	}
}

// burstOf returns the calls that a limit allows at once.
func burstOf(l *models.Limit) float64 {
	if l.Burst > 0 {
		return float64(l.Burst)
	}
	return math.Max(1, math.Ceil(l.PerSecond))
}

// rounding is the part of a token that sums of fractions may lack.
const rounding = 1e-9

// wait returns the time until the bucket has a token, or 0.
func (b *bucket) wait() time.Duration {
	if b.perSecond == 0 || b.tokens >= 1-rounding {
		return 0
	}
	seconds := math.Min((1-b.tokens)/b.perSecond, secondsPerDay)
	return max(time.Duration(seconds*float64(time.Second)), 1)
}

func (b *bucket) take(calls float64) {
	if b.perSecond > 0 {
		b.tokens -= calls
	}
}

// takeOthers takes the calls of other processes since the last exchange. Those
// during which the bucket was full took the tokens that it lost.
func (b *bucket) takeOthers(calls int64) {
	if calls > 0 {
		b.take(math.Max(0, float64(calls)-b.lost))
	}
	b.lost = 0
}

// settles reports whether the bucket is full and stays so, because the last
// call in any process was long ago.
func (b *bucket) settles(used, now time.Time) bool {
	quiet := now.Sub(used)
	if b.perSecond == 0 {
		return quiet >= settled
	}
	tokens := b.tokens + now.Sub(b.at).Seconds()*b.perSecond
	return tokens >= b.burst && quiet >= settled && quiet.Seconds() >= 2*b.burst/b.perSecond
}
