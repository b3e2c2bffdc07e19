package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// timetable is a schedule with virtual time.
type timetable struct {
	*schedule
	at time.Time
}

func newTimetable() *timetable {
	p := &timetable{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	p.schedule = newSchedule(func() time.Time { return p.at })
	return p
}

// taken returns the due servers in order and releases them.
func (p *timetable) taken(max int) []string {
	due, _ := p.take(max)
	ids := idsOf(due)
	slices.Sort(ids)
	for _, id := range ids {
		p.finished(id)
	}
	return ids
}

func idsOf(due []planned) (ids []string) {
	for _, p := range due {
		ids = append(ids, p.serverID)
	}
	return ids
}

func (p *timetable) wantDue(t *testing.T, ids ...string) {
	t.Helper()
	if got := p.taken(100); !slices.Equal(got, ids) {
		t.Errorf("due = %v, want %v", got, ids)
	}
}

func TestNewConfigurationIsDueImmediately(t *testing.T) {
	p := newTimetable()
	p.wantDue(t)
	p.want("a", 1)
	p.wantDue(t, "a")
	if !p.isDue("a") || p.isDue("b") {
		t.Error("due servers are not only a")
	}
	p.done("a", 1, true)
	if p.isDue("a") {
		t.Error("a is due although it was synced")
	}
	p.wantDue(t)
	p.want("a", 1) // the same configuration changes nothing
	p.wantDue(t)
	for _, on := range []bool{true, false} { // so does validating as before
		p.validates("a", !on)
		p.done("a", 1, true)
		p.wantDue(t)
		p.validates("a", on)
		p.wantDue(t, "a")
		p.done("a", 1, true)
	}
	p.want("a", 2)
	p.want("b", 1)
	p.wantDue(t, "a", "b")
}

func TestOutdatedSyncKeepsNewSchedule(t *testing.T) {
	p := newTimetable()
	p.want("a", 2)
	p.done("a", 1, true)
	p.wantDue(t, "a")
	p.done("a", 2, true)
	p.wantDue(t)
	p.done("a", 3, true) // a version that another call synced before it was scheduled
	p.want("a", 3)
	p.wantDue(t)
}

func TestTakeReportsAnnouncements(t *testing.T) {
	p := newTimetable()
	p.want("a", 1)
	p.want("b", 1)
	p.announce("a", 0)
	due, _ := p.take(100)
	slices.SortFunc(due, func(x, y planned) int { return strings.Compare(x.serverID, y.serverID) })
	if want := []planned{{"a", true}, {"b", false}}; !slices.Equal(due, want) {
		t.Errorf("due = %v, want %v", due, want)
	}
}

func TestHealthyServerIsDueAfterInterval(t *testing.T) {
	const shortest, longest = SyncInterval * 9 / 10, SyncInterval * 11 / 10
	seen := map[time.Duration]bool{}
	for range 200 {
		p := newTimetable()
		p.want("a", 1)
		p.done("a", 1, true)
		_, wait := p.take(1)
		if wait > SyncInterval {
			t.Fatalf("wait = %s", wait)
		}
		next := p.entries["a"].next.Sub(p.at)
		if next < shortest || next > longest {
			t.Fatalf("due after %s, want %s to %s", next, shortest, longest)
		}
		seen[next] = true
		p.at = p.at.Add(next - 1)
		p.wantDue(t)
		p.at = p.at.Add(1)
		p.wantDue(t, "a")
	}
	if len(seen) < 100 {
		t.Errorf("only %d different times, want jitter between servers", len(seen))
	}
}

func TestRetryIntervalDoubles(t *testing.T) {
	for range 20 {
		p := newTimetable()
		p.want("a", 1)
		for i, base := range []time.Duration{15, 30, 60, 120, 240, 480, 900, 900, 900, 900, 900, 900, 900, 900} {
			p.wantDue(t, "a")
			p.done("a", 1, false)
			next := p.entries["a"].next.Sub(p.at)
			if ratio := float64(next) / float64(base*time.Second); ratio < 0.9 || ratio > 1.1 {
				t.Fatalf("retry %d after %s, want %d s ± 10 %%", i+1, next, base)
			}
			p.at = p.at.Add(next)
		}
		p.done("a", 1, true)
		p.at = p.entries["a"].next
		p.wantDue(t, "a")
		p.failed("a") // after a success the first retry is short again
		if next := p.entries["a"].next.Sub(p.at); next > 17*time.Second {
			t.Errorf("first retry after a success after %s", next)
		}
	}
}

func TestOnlyScheduledServersAreDue(t *testing.T) {
	p := newTimetable()
	for _, id := range []string{"a", "b", "c"} {
		p.want(id, 1)
	}
	p.keep(map[string]bool{"a": true, "c": true})
	p.forget("c")
	p.wantDue(t, "a")
	for _, id := range []string{"b", "c", "unknown"} { // none of these is scheduled again
		p.done(id, 1, false)
		p.failed(id)
		p.due(id)
		p.finished(id)
	}
	p.at = p.at.Add(time.Hour)
	p.wantDue(t, "a")
}

func TestDueDuringSyncSchedulesAnother(t *testing.T) {
	p := newTimetable()
	p.want("a", 1)
	p.done("a", 1, true)
	p.due("a")
	p.wantDue(t, "a")
}

func TestTakeLimit(t *testing.T) {
	const servers = 5
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, servers - 1: servers - 1, servers: servers, servers + 1: servers} {
		p := newTimetable()
		for i := range servers {
			p.want(fmt.Sprint(i), 1)
		}
		ids, wait := p.take(limit)
		if len(ids) != want {
			t.Errorf("take(%d) = %v", limit, ids)
		}
		if wait != SyncInterval { // nothing is due later; the end of a sync wakes the runner
			t.Errorf("take(%d) wait = %s", limit, wait)
		}
		rest, _ := p.take(100)
		if len(ids)+len(rest) != servers {
			t.Errorf("take(%d) = %v, and then %v", limit, ids, rest)
		}
		if again, _ := p.take(100); len(again) != 0 {
			t.Errorf("take returned running servers %v", again)
		}
		p.finished("0")
		if again, _ := p.take(100); !slices.Equal(idsOf(again), []string{"0"}) {
			t.Errorf("after one sync ended: due = %v", again)
		}
	}
}

func TestTakeReturnsWait(t *testing.T) {
	p := newTimetable()
	p.want("a", 1)
	p.want("b", 1)
	p.done("a", 1, true)
	p.done("b", 1, false)
	_, wait := p.take(10)
	if want := p.entries["b"].next.Sub(p.at); wait != want {
		t.Errorf("wait = %s, want %s", wait, want)
	}
	p.at = p.at.Add(wait)
	if due, _ := p.take(10); !slices.Equal(idsOf(due), []string{"b"}) {
		t.Errorf("then due = %v", due)
	}
}

func TestImmediateSyncWakesRunner(t *testing.T) {
	p := newTimetable()
	woken := func() bool {
		select {
		case <-p.wake:
			return true
		default:
			return false
		}
	}
	p.want("a", 1)
	if !woken() {
		t.Error("new server does not wake the runner")
	}
	p.want("a", 1)
	p.done("a", 1, true)
	if woken() {
		t.Error("runner is woken without a change")
	}
	for name, act := range map[string]func(){
		"new configuration": func() { p.want("a", 2) }, "due": func() { p.due("a") }, "finished": func() { p.finished("a") },
	} {
		act()
		act() // does not block without a receiver
		if !woken() {
			t.Errorf("%s does not wake the runner", name)
		}
	}
}
