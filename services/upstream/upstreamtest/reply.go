package upstreamtest

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// reply sends the response to a request. notify may be called concurrently,
// finish once at the end.
type reply interface {
	notify(m []byte) error
	canAsk() bool
	finish(f frame)
}

var errAnswered = errors.New("request already has a response")

// httpReply responds in the HTTP response of the POST.
type httpReply struct {
	w    http.ResponseWriter
	ctx  context.Context // of the HTTP request
	mode ResponseMode
	gzip bool

	mu     sync.Mutex
	events bool // the event stream was started
	done   bool
	out    io.Writer
	zip    *gzip.Writer
}

// notify sends m as an event. It drops m in a JSON response.
func (p *httpReply) notify(m []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.done:
		return errAnswered
	case p.mode == AnswerJSON:
		return nil
	case p.ctx.Err() != nil: // the client is gone
		return p.ctx.Err()
	}
	p.start()
	if err := (frame{head: m}).writeEvent(p.out, ""); err != nil {
		return err
	}
	return p.flush()
}

func (p *httpReply) canAsk() bool { return p.mode != AnswerJSON }

// finish sends the response and ends it.
func (p *httpReply) finish(f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.events || p.mode == AnswerSSE && (f.status == 0 || f.status == http.StatusOK) {
		p.start()
		if !f.skip && (f.writeEvent(p.out, "") != nil || p.flush() != nil) {
			return
		}
		if f.half {
			cutConnection(p.w, false)
		}
	} else if !f.skip || f.head != nil {
		p.w.Header().Set("Content-Type", "application/json")
		p.prepare()
		limit := f.size()
		if p.zip == nil && f.pad < endless {
			p.w.Header().Set("Content-Length", strconv.FormatInt(limit, 10))
		}
		p.w.WriteHeader(orElse(f.status, http.StatusOK))
		if f.half {
			limit /= 2
		}
		if f.writeTo(p.out, limit) != nil {
			return
		}
		if f.half {
			if p.flush() == nil {
				cutConnection(p.w, false)
			}
			return
		}
	}
	if p.zip != nil {
		_ = p.zip.Close() // the client may be gone
	}
}

// start starts the event stream.
func (p *httpReply) start() {
	if p.events {
		return
	}
	p.events = true
	p.prepare()
	startEvents(p.w)
}

// prepare sets the writer and, for a compressed response, its header.
func (p *httpReply) prepare() {
	p.out = p.w
	if p.gzip {
		p.w.Header().Set("Content-Encoding", "gzip")
		p.zip = gzip.NewWriter(p.w)
		p.out = p.zip
	}
}

func (p *httpReply) flush() error {
	if p.zip != nil {
		if err := p.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.w).Flush()
}

// streamReply responds on the GET stream of an HTTP+SSE session.
type streamReply struct{ stream *stream }

func (p streamReply) notify(m []byte) error {
	if !p.stream.push(frame{head: m}) {
		return context.Canceled
	}
	return nil
}

func (p streamReply) canAsk() bool { return true }

func (p streamReply) finish(f frame) {
	if !f.skip {
		p.stream.push(f) // false only if the client is gone
	}
}

// batchReply collects the responses to a batch. Other messages are dropped,
// because a JSON array can't contain them.
type batchReply struct{ out []byte }

func (p *batchReply) notify([]byte) error { return nil }
func (p *batchReply) canAsk() bool        { return false }

func (p *batchReply) finish(f frame) {
	if f.skip {
		return
	}
	if len(p.out) > 0 {
		p.out = append(p.out, ',')
	}
	p.out = append(append(p.out, f.head...), f.tail...)
}
