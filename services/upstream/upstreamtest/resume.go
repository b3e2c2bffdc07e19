package upstreamtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// eventLog stores the events of a resumable stream, so that a client can get
// missed ones (2025-11-25, resumability). Event n has the id "<number>_<n>". n
// starts at 1; 0 is the priming event.
type eventLog struct {
	number int64

	mu      sync.Mutex
	events  []frame
	done    bool
	changed chan struct{}
}

// notify appends an event. A full log drops it, so that an endless call can't
// fill the memory.
func (l *eventLog) notify(m []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done || len(l.events) >= maxLogEvents {
		return errAnswered
	}
	l.events = append(l.events, frame{head: m})
	l.wake()
	return nil
}

func (l *eventLog) canAsk() bool { return true }

func (l *eventLog) finish(f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.skip {
		l.events = append(l.events, f)
	}
	l.done = true
	l.wake()
}

func (l *eventLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// after returns the events after the n-th one, whether the log is complete, and
// a channel that is closed when there are more.
func (l *eventLog) after(n int) (events []frame, done bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[min(n, len(l.events)):len(l.events):len(l.events)], l.done, l.changed
}

// newLog opens a log and drops the oldest one beyond the limit.
func (v *session) newLog() *eventLog {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.nextLog++
	l := &eventLog{number: v.nextLog, changed: make(chan struct{})}
	if len(v.logs) == maxLogs {
		v.logs = v.logs[1:]
	}
	v.logs = append(v.logs, l)
	return l
}

func (v *session) log(number int64) *eventLog {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.logs {
		if l.number == number {
			return l
		}
	}
	return nil
}

// serveResumable responds to a request on a stream that survives its
// connection: the call continues when the client is gone.
func (s *Server) serveResumable(w http.ResponseWriter, r *http.Request, v *session, m *message, era Era, hit *Fault, b *behaviour) {
	if !s.enter() {
		http.Error(w, "the server is closed", http.StatusServiceUnavailable)
		return
	}
	l := v.newLog()
	c := s.newCall(m, era, v, r.Header.Clone(), l)
	ctx, done := v.begin(m.id)
	go func() {
		defer s.leave()
		defer done()
		s.respond(ctx, c, hit, b)
	}()

	startEvents(w)
	if era >= Era20251125 { // the priming event was added in this revision
		retry := ""
		if hit.is(CutStream) && hit.Retry > 0 {
			retry = fmt.Sprintf("retry: %d\n", hit.Retry.Milliseconds())
		}
		if _, err := fmt.Fprintf(w, "id: %d_0\n%sdata: \n\n", l.number, retry); err != nil {
			return
		}
	}
	if http.NewResponseController(w).Flush() != nil || hit.is(CutStream) {
		return
	}
	s.tail(r.Context(), w, v, l, 0)
}

// resume continues a stream after the last event that the client received.
func (s *Server) resume(w http.ResponseWriter, r *http.Request, v *session, last string) {
	stream, event, _ := strings.Cut(last, "_")
	number, errStream := strconv.ParseInt(stream, 10, 64)
	seen, errEvent := strconv.Atoi(event)
	l := v.log(number)
	if errStream != nil || errEvent != nil || seen < 0 || l == nil {
		http.Error(w, "Bad Request: unknown Last-Event-ID", http.StatusBadRequest)
		return
	}
	startEvents(w)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	s.tail(r.Context(), w, v, l, seen)
}

// tail writes the events of a log after the seen-th to the response.
func (s *Server) tail(ctx context.Context, w io.Writer, v *session, l *eventLog, seen int) {
	for {
		events, done, changed := l.after(seen)
		for _, f := range events {
			seen++
			if f.writeEvent(w, fmt.Sprintf("%d_%d", l.number, seen)) != nil {
				return
			}
		}
		if rw, ok := w.(http.ResponseWriter); ok && len(events) > 0 {
			if http.NewResponseController(rw).Flush() != nil {
				return
			}
			if events[len(events)-1].half {
				cutConnection(rw, false)
				return
			}
		}
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-v.ctx.Done():
			return
		}
	}
}
