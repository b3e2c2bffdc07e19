package tasks

import (
	"strconv"
	"sync"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// steps report the status messages of a task as progress of the call, unless the
// server reports progress itself: the value of progress must only increase.
type steps struct {
	token []byte // raw; nil if the client requests no progress
	pass  func(method string, params []byte)

	mu   sync.Mutex
	sent int
	last string
	own  bool // the server reports progress itself
}

// begin sets the progress token of a tools/call.
func (s *steps) begin(request *upstream.Request) {
	s.pass = request.Notify
	if s.pass == nil {
		return
	}
	params, err := request.ParamsObject()
	if err == nil {
		s.token = params.Object("_meta").Get("progressToken")
	}
}

// say reports a status message, if it is a new one.
func (s *steps) say(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == nil || s.own || message == "" || message == s.last {
		return
	}
	s.last = message
	s.sent++
	b := append(append([]byte(`{"progressToken":`), s.token...), `,"progress":`...)
	b = strconv.AppendInt(b, int64(s.sent), 10)
	b = rawjson.AppendString(append(b, `,"message":`...), message)
	s.pass(upstream.Progress, append(b, '}'))
}

// notify forwards a notification on the stream of tasks/result.
func (s *steps) notify(method string, params []byte) {
	switch method {
	case upstream.TaskStatus:
		if task := taskOf(Core, object(params)); task != nil {
			s.say(task.message())
		}
		return
	case upstream.Progress:
		s.mu.Lock()
		s.own = s.sent == 0
		drop := !s.own
		s.mu.Unlock()
		if drop {
			return
		}
	}
	s.pass(method, withRelated(params, ""))
}
