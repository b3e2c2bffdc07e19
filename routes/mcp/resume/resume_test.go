package resume

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/web/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const session = "a session's key"

// connection is a client that records its events.
type connection struct {
	mu        sync.Mutex
	ids, data []string
	ended     bool
	broken    bool // writes fail from now on
	done      chan struct{}
}

func newConnection() *connection { return &connection{done: make(chan struct{})} }

func (c *connection) SendEvent(e *sse.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.broken {
		return false
	}
	c.ids, c.data = append(c.ids, e.ID), append(c.data, string(bytes.Join(e.Data, nil)))
	return true
}

func (c *connection) EndWithEvent(e *sse.Event, sent func()) {
	c.SendEvent(e)
	c.End()
	if sent != nil {
		sent()
	}
}

func (c *connection) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

func (c *connection) Completed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended && !c.broken
}

func (c *connection) Send(_ string, data []byte) bool {
	return c.SendEvent(&sse.Event{Data: [][]byte{data}})
}
func (c *connection) Offer(event, _ string, data []byte) { c.Send(event, data) }
func (c *connection) OfferEvent(e *sse.Event)            { c.SendEvent(e) }
func (c *connection) Break()                             { c.End() }
func (c *connection) Done() <-chan struct{}              { return c.done }

// got returns the data of all events, separated by spaces. Events without data
// are "-".
func (c *connection) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for i, data := range c.data {
		if i > 0 {
			b.WriteByte(' ')
		}
		if data == "" {
			data = "-"
		}
		b.WriteString(data)
	}
	return b.String()
}

// lastID returns the id of the latest event.
func (c *connection) lastID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[len(c.ids)-1]
}

// store is a Results in memory.
type store struct {
	mu      sync.Mutex
	rows    map[string]string
	stored  int
	changed chan struct{}
}

func newStore() *store { return &store{rows: map[string]string{}, changed: make(chan struct{}, 1)} }

func (s *store) Store(_ context.Context, _, session, id string, response []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[session+id] = string(response)
	s.stored++
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *store) Find(_ context.Context, session, id string) (response []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, found := s.rows[session+id]
	return []byte(text), found, nil
}

func (s *store) End(context.Context, string) error { return nil }

func (s *store) Watch(string) (changed <-chan struct{}, stop func()) { return s.changed, func() {} }

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

func newStreams(t *testing.T, results Results) *Streams {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return New(ring, results, nil)
}

func request() Request {
	return Request{ProjectID: "p", Session: session, ID: []byte("7"), Until: time.Now().Add(time.Minute)}
}

// begin returns a stream with a client.
func begin(s *Streams) (*Stream, *connection) {
	st, c := s.Begin(request()), newConnection()
	st.Attach(c)
	return st, c
}

// resumed reconnects after the event with the id.
func resumed(t *testing.T, s *Streams, id string) (c *connection, left func()) {
	t.Helper()
	at, err := s.Open(id, session)
	if err != nil {
		t.Fatal(err)
	}
	c = newConnection()
	return c, s.Resume(t.Context(), c, session, at, []byte("gone"), nil)
}

func finish(st *Stream, response string) { st.Finish([][]byte{[]byte(response)}, func() {}) }

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

func TestMaxEvents(t *testing.T) {
	for _, c := range []struct {
		name        string
		events, len int
		lost        int
	}{
		{"31 events", maxEvents - 1, 1, 0},
		{"32 events", maxEvents, 1, 0},
		{"33 events", maxEvents + 1, 1, 1},
		{"a byte below 256 KiB", 1, maxBytes - 1, 0},
		{"256 KiB", 2, maxBytes / 2, 0},
		{"a byte above 256 KiB", 1, maxBytes + 1, 1},
		{"three halves", 3, maxBytes / 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStreams(t, newStore())
			st, client := begin(s)
			st.Detach(client)
			for range c.events {
				st.Send(bytes.Repeat([]byte("x"), c.len))
			}
			finish(st, "end")
			again, _ := resumed(t, s, client.ids[0])
			if got, want := len(again.data), 1+c.events-c.lost+1; got != want {
				t.Errorf("%d events, want %d", got, want)
			}
			if got := again.data[len(again.data)-1]; got != "end" {
				t.Errorf("the last event is %.20q", got)
			}
		})
	}
}

func TestMaxMemory(t *testing.T) {
	const size = 1000
	for _, c := range []struct {
		name   string
		memory int64
		want   []bool // which of two finished streams are retained
	}{
		{"a byte too little for two", 2*(size+entrySize) - 1, []bool{false, true}},
		{"enough for two", 2 * (size + entrySize), []bool{true, true}},
		{"a byte too much for two", 2*(size+entrySize) + 1, []bool{true, true}},
		{"enough for one", size + entrySize, []bool{false, true}},
		{"a byte too little for one", size + entrySize - 1, []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStreams(t, newStore())
			s.memory = c.memory
			var streams []*Stream
			for range c.want {
				st, _ := begin(s)
				finish(st, strings.Repeat("r", size))
				streams = append(streams, st)
			}
			for i, st := range streams {
				if got := s.find(st.position.stream) != nil; got != c.want[i] {
					t.Errorf("stream %d is retained: %v, want %v", i, got, c.want[i])
				}
			}
			if s.Held() > c.memory {
				t.Errorf("holds %d bytes of %d", s.Held(), c.memory)
			}
		})
	}
}

// TestMemoryOfRunningStreams checks that events without memory are sent but not
// retained, and that the memory is released.
func TestMemoryOfRunningStreams(t *testing.T) {
	results := newStore()
	s := newStreams(t, results)
	s.memory = 3 * (10 + entrySize)
	st, client := begin(s)
	for i := range 5 {
		st.Send(fmt.Appendf(nil, "event %04d", i))
	}
	if len(client.data) != 6 {
		t.Errorf("%d events were sent, want 6", len(client.data))
	}
	again, _ := resumed(t, s, client.ids[0])
	if len(again.data) != 4 {
		t.Errorf("%d events were retained, want 3", len(again.data)-1)
	}
	st.Detach(again)
	finish(st, "result too long to be retained"+strings.Repeat("!", 1000))
	if s.Held() != 0 || len(s.open) != 0 || results.count() != 1 {
		t.Errorf("holds %d bytes and %d streams; %d stored", s.Held(), len(s.open), results.count())
	}
	last, left := resumed(t, s, client.ids[0])
	defer left()
	<-last.done
	if !strings.HasPrefix(last.data[1], "result too long") {
		t.Errorf("resumed without memory: %q", last.got())
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, newStore())
		one, _ := begin(s)
		finish(one, "1")
		time.Sleep(time.Minute)
		two, _ := begin(s)
		finish(two, "2")
		running, _ := begin(s)
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{finishedTime - time.Minute - 1, 3}, {1, 2}, {time.Minute - 1, 2}, {1, 1}, {time.Hour, 1}} {
			time.Sleep(c.after)
			synctest.Wait()
			s.mu.Lock()
			got := len(s.open)
			s.mu.Unlock()
			if got != c.want {
				t.Errorf("%v later: %d streams, want %d", c.after, got, c.want)
			}
		}
		finish(running, "3")
		time.Sleep(finishedTime)
		synctest.Wait()
		if s.Held() != 0 || len(s.open) != 0 {
			t.Errorf("holds %d bytes in %d streams", s.Held(), len(s.open))
		}
	})
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

var _ Client = (*sse.Stream)(nil)
