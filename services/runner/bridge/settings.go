//go:build linux || darwin

package bridge

import (
	"context"
	"strings"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// prepare returns the params of a request that changes what the process does for all
// its sessions: subscriptions and the level of log messages. nil means that nothing
// changes for the program. undo is called if the request fails. Params of other
// requests are returned unchanged.
func (s *session) prepare(method string, params []byte) (changed []byte, undo func()) {
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	undo = func() {}
	switch method {
	case methodSubscribe:
		if uri := uriOf(params); !s.subscribed[uri] {
			s.subscribed[uri] = true
			undo = func() { s.forgetSubscription(uri) }
		}
	case methodUnsubscribe:
		uri := uriOf(params)
		delete(s.subscribed, uri)
		if s.peer.isSubscribed(uri) {
			return nil, undo
		}
	case methodSetLevel:
		return s.setLevel(params), undo
	}
	return params, undo
}

func uriOf(params []byte) string {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return ""
	}
	uri, _ := o.String("uri")
	return uri
}

func (s *session) forgetSubscription(uri string) {
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	delete(s.subscribed, uri)
}

// setLevel sets the level of the session and returns the params with the lowest level
// of all sessions of the process. The caller must hold mu.
func (s *session) setLevel(params []byte) []byte {
	level := levelOf(params)
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if level < 0 || err != nil {
		return params // the program rejects it
	}
	s.level = level
	for _, one := range s.peer.sessions {
		if one.level >= 0 {
			level = min(level, one.level)
		}
	}
	if level != s.level {
		o.Set("level", rawjson.Quote(upstream.LogLevels()[level]))
	}
	return o.Bytes()
}

// levelOf returns the index of the level in params, or -1.
func levelOf(params []byte) int {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return -1
	}
	name, _ := o.String("level")
	for i, level := range upstream.LogLevels() {
		if strings.EqualFold(name, level) {
			return i
		}
	}
	return -1
}

// passesLevel reports whether a log message has the level that the session set. The
// caller must hold mu.
func (s *session) passesLevel(params []byte) bool {
	level := levelOf(params)
	return level < 0 || level >= s.level
}

// maxUnsubscribeTime is the maximum time for ending the subscriptions of a session.
const maxUnsubscribeTime = 5 * time.Second

// unsubscribe ends the subscriptions that only a removed session had.
func (p *peer) unsubscribe(s *session) {
	p.mu.Lock()
	var unused []string
	for uri := range s.subscribed {
		if !p.isSubscribed(uri) {
			unused = append(unused, uri)
		}
	}
	p.mu.Unlock()
	if len(unused) == 0 {
		return
	}
	p.bridge.options.Tasks.Go("end of subscriptions", func() {
		ctx, cancel := context.WithTimeout(context.Background(), maxUnsubscribeTime)
		defer cancel()
		for _, uri := range unused {
			_, _ = p.conn.Call(ctx, methodUnsubscribe, append(rawjson.AppendString([]byte(`{"uri":`), uri), '}'), nil)
		}
	})
}

// isSubscribed reports whether a session is subscribed to a resource. The caller must
// hold mu.
func (p *peer) isSubscribed(uri string) bool {
	for _, s := range p.sessions {
		if s.subscribed[uri] {
			return true
		}
	}
	return false
}
