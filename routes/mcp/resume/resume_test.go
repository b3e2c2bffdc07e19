package resume

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/fault"
)

func TestReplay(t *testing.T) {
	results := newStore()
	s := newStreams(t, results)
	st, first := begin(s)
	st.Send([]byte("a"))
	from := first.lastID()
	st.Offer("k", []byte("b"))
	st.Detach(first)
	st.Send([]byte("c"))
	second, left := resumed(t, s, from)
	st.Send([]byte("d"))
	finish(st, "end")
	if got, want := second.got(), "- b c d end"; got != want || !second.ended {
		t.Errorf("resumed after a: %q, want %q", got, want)
	}
	left()
	if results.count() != 0 {
		t.Error("a delivered result was stored")
	}
	if third, _ := resumed(t, s, second.ids[0]); third.got() != "- b c d end" || !third.ended {
		t.Errorf("resumed after the end: %q", third.got())
	}
	if at, err := s.Open(second.lastID(), session); err != nil || !at.IsLast() || string(at.RequestID()) != "7" {
		t.Errorf("the last event: %+v, %v", at, err)
	}
}

func TestNewerClientReplacesOlder(t *testing.T) {
	results := newStore()
	s := newStreams(t, results)
	st, first := begin(s)
	second, _ := resumed(t, s, first.lastID())
	if !first.ended {
		t.Error("the first client is still connected")
	}
	st.Detach(first)
	finish(st, "end")
	if second.got() != "- end" || first.got() != "-" || results.count() != 0 {
		t.Errorf("%q, %q, %d stored", first.got(), second.got(), results.count())
	}
}

func TestUndeliveredResultIsStored(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(st *Stream, c *connection)
		want int
	}{
		{"connected", func(*Stream, *connection) {}, 0},
		{"disconnected", func(st *Stream, c *connection) { st.Detach(c) }, 1},
		{"closed its end", func(st *Stream, c *connection) { st.Leave(c) }, 1},
		{"breaks during the result", func(_ *Stream, c *connection) { c.broken = true }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := newStore()
			s := newStreams(t, results)
			st, client := begin(s)
			c.lose(st, client)
			sent := 0
			st.Finish([][]byte{[]byte("e"), []byte("nd")}, func() { sent++ })
			st.Detach(client)
			st.Detach(client)
			if results.count() != c.want || sent != 1 {
				t.Errorf("stored %d times, want %d; sent called %d times", results.count(), c.want, sent)
			}
			for _, response := range results.rows {
				if response != "end" {
					t.Errorf("stored %q", response)
				}
			}
		})
	}
}

func TestCancelledStream(t *testing.T) {
	s := newStreams(t, newStore())
	st, client := begin(s)
	st.Finish(nil, func() {})
	at, err := s.Open(client.lastID(), session)
	if client.got() != "- -" || !client.ended || err != nil || !at.IsLast() {
		t.Errorf("%q, %+v, %v", client.got(), at, err)
	}
}

func TestQuestionLost(t *testing.T) {
	s := newStreams(t, newStore())
	st, client := begin(s)
	st.Detach(client)
	lost, ok := st.Ask([]byte("question"))
	if !ok {
		t.Fatal("a question for a disconnected client was rejected")
	}
	for range maxEvents - 1 {
		st.Send([]byte("x"))
	}
	select {
	case <-lost:
		t.Error("lost with 32 events")
	default:
	}
	st.Send([]byte("x"))
	select {
	case <-lost:
	default:
		t.Error("not lost with 33 events")
	}
	again, _ := resumed(t, s, client.ids[0])
	lost, _ = st.Ask([]byte("question"))
	for range maxEvents {
		st.Send([]byte("x"))
	}
	select {
	case <-lost:
		t.Error("a question that the client received is lost")
	default:
	}
	st.Detach(again)
	select {
	case <-lost:
	default:
		t.Error("not lost without the client")
	}
	finish(st, "end")
	if _, ok := st.Ask([]byte("question")); ok {
		t.Error("asked after the end")
	}
}

func TestPositions(t *testing.T) {
	s := newStreams(t, newStore())
	st, client := begin(s)
	for range 20 {
		st.Send([]byte("x"))
	}
	finish(st, "end")
	for _, id := range client.ids {
		if len(id) != len(client.ids[0]) {
			t.Errorf("ids have %d and %d bytes", len(id), len(client.ids[0]))
		}
		for _, r := range id {
			if r <= ' ' || r > '~' {
				t.Fatalf("id %q", id)
			}
		}
	}
	good := client.ids[3]
	for name, c := range map[string][2]string{
		"another session": {good, "another session"},
		"changed":         {good[:len(good)-4] + "AAAA", session},
		"truncated":       {good[:len(good)-4], session},
		"another purpose": {s.keys.SealToken("mcp session", []byte("x")), session},
		"short":           {s.keys.SealToken(purpose, make([]byte, positionSize-1)), session},
		"empty":           {"", session},
	} {
		if _, err := s.Open(c[0], c[1]); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at, err := s.Open(good, session); err != nil || at.IsLast() || at.sequence != 3 {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestOtherProcess resumes streams that run in another process.
func TestOtherProcess(t *testing.T) {
	for _, c := range []struct {
		name, want string
		act        func(st *Stream)
		after      time.Duration
	}{
		{"finished before", "- end", func(st *Stream) { finish(st, "end") }, 0},
		{"finished later", "- end", func(st *Stream) { time.Sleep(30 * time.Second); finish(st, "end") }, 30 * time.Second},
		{"too large", "- gone", func(st *Stream) { finish(st, "") }, 0},
		{"never finished", "- gone", func(*Stream) {}, time.Minute + lateTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				results := newStore()
				here, there := newStreams(t, results), newStreams(t, results)
				st, client := begin(here)
				st.Detach(client)
				began := time.Now()
				var running sync.WaitGroup
				running.Go(func() { c.act(st) })
				if c.after == 0 {
					running.Wait()
				}
				again, left := resumed(t, there, client.ids[0])
				<-again.done
				if took := time.Since(began); again.got() != c.want || took != c.after {
					t.Errorf("%q after %v, want %q after %v", again.got(), took, c.want, c.after)
				}
				if at, err := there.Open(again.lastID(), session); err != nil || !at.IsLast() {
					t.Errorf("the last event: %+v, %v", at, err)
				}
				left()
				running.Wait()
				finish(st, "late")
				synctest.Wait()
			})
		})
	}
	t.Run("disconnects while waiting", func(t *testing.T) {
		results := newStore()
		here, there := newStreams(t, results), newStreams(t, results)
		st, client := begin(here)
		_, left := resumed(t, there, client.ids[0])
		left() // goleak reports the goroutine if it remains
		finish(st, "end")
	})
}

// TestConcurrentResume reconnects repeatedly while events are sent. Every event
// must arrive once and in order.
func TestConcurrentResume(t *testing.T) {
	const events = 400
	s := newStreams(t, newStore())
	st, client := begin(s)
	step := make(chan struct{}, maxEvents/2) // the sender is at most this far ahead
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range events {
			step <- struct{}{}
			st.Send(fmt.Appendf(nil, "%d", i))
		}
		finish(st, "end")
	})
	var got []string
	for seen := client; ; {
		for range maxEvents / 4 {
			select {
			case <-step:
			default:
			}
		}
		last := seen.lastID()
		next, _ := resumed(t, s, last)
		seen.mu.Lock()
		// Events after the id that the client reported reach it again.
		for i, id := range seen.ids {
			if seen.data[i] != "" {
				got = append(got, seen.data[i])
			}
			if id == last {
				break
			}
		}
		seen.mu.Unlock()
		if len(got) > 0 && got[len(got)-1] == "end" {
			break
		}
		seen = next
	}
	sending.Wait()
	if len(got) != events+1 {
		t.Fatalf("%d events arrived, want %d", len(got), events+1)
	}
	for i, data := range got[:events] {
		if data != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, data)
		}
	}
}

func TestPlainStream(t *testing.T) {
	c := newConnection()
	st := Plain(c)
	st.Attach(c)
	st.Send([]byte("a"))
	st.Offer("k", []byte("b"))
	lost, ok := st.Ask([]byte("c"))
	st.Detach(c)
	st.Send([]byte("d"))
	sent := 0
	st.Finish(nil, func() { sent++ })
	if c.got() != "a b c d" || strings.Join(c.ids, "") != "" || !ok || sent != 1 || st.Resumable() {
		t.Errorf("%q, ids %q, %v, sent %d", c.got(), c.ids, ok, sent)
	}
	select {
	case <-lost:
	default:
		t.Error("a question outlives its client")
	}
}
