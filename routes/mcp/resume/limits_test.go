package resume

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
