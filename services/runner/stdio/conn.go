// Package stdio is the connection with a program that speaks MCP over its
// standard input and output (MCP 2025-11-25, "stdio").
package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/wire"
)

// Options configure a Conn. All functions are called by one goroutine, in the
// order of the program's messages, and must not block.
type Options struct {
	In  io.WriteCloser // input of the program
	Out io.Reader      // output of the program
	// Notify receives notifications, except the progress of calls.
	Notify func(method string, params []byte)
	// Serve receives requests of the program, which Respond responds to.
	Serve func(id []byte, method string, params []byte)
	// Stray receives each output line that is not a message.
	Stray func(line []byte)
	Tasks *background.Tasks // may be nil
}

// Conn is a connection with a program. It is safe for concurrent use.
type Conn struct {
	options Options
	queue   *queue

	done chan struct{}
	err  error // why it ended; set when done is closed

	mu    sync.Mutex
	last  int64
	calls map[int64]*call
}

// call is a request without a response so far.
type call struct {
	response chan Response // buffered
	token    []byte        // the raw progress token of the caller; nil without one
	progress func(params []byte)
	late     func() // replaces response after a cancellation
}

// Response is the response of a program. One of both is set.
type Response struct{ Result, RPCError []byte }

// ErrEnded is the error for calls when the output of the program has ended.
var ErrEnded = errors.New("the program has ended")

// NewConn returns the connection with a program. It ends with the output of the
// program, or with a violation of the limits, after which Err returns the reason.
// The caller then has to end the program.
func NewConn(o Options) *Conn {
	c := &Conn{options: o, done: make(chan struct{}), calls: map[int64]*call{}}
	c.queue = newQueue(o.In, c.fail, o.Tasks)
	o.Tasks.Go("program output", c.read)
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended: ErrEnded for the end of the output. It
// must be called only after Done is closed.
func (c *Conn) Err() error { return c.err }

// fail ends the connection.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
		c.queue.close()
	}
}

// Request is a request to a program.
type Request struct {
	Method string
	Params []byte // may be nil
	// Progress receives the params of its progress notifications with the progress
	// token of Params. It may be nil.
	Progress func(params []byte)
	// Sent receives the ID of the request before the program can refer to it. It
	// may be nil.
	Sent func(id int64)
	// Late is called when the response arrives although the request was cancelled,
	// until LateTime after that. It may be nil.
	Late func()
}

// LateTime is the time after a cancellation in which the program can be expected to
// end the request, or to respond to it.
const LateTime = 5 * time.Second

// ErrParams is the error for params that are not an object.
var ErrParams = errors.New("params are not an object")

// Call sends a request and returns its response. progress receives the params of
// its progress notifications with the progress token of params; it may be nil.
// When ctx ends, the call is cancelled at the program, and its error is returned.
// Other errors are ErrEnded, ErrParams and those of the limits.
func (c *Conn) Call(ctx context.Context, method string, params []byte, progress func(params []byte)) (Response, error) {
	return c.Do(ctx, Request{Method: method, Params: params, Progress: progress})
}

// Do is Call with all properties of a request.
func (c *Conn) Do(ctx context.Context, r Request) (Response, error) {
	params := r.Params
	one := &call{response: make(chan Response, 1), token: wire.ProgressToken(params), progress: r.Progress}
	id, err := c.add(one)
	if err != nil {
		return Response{}, err
	}
	remove := c.remove
	defer func() { remove(id) }()
	if r.Sent != nil {
		r.Sent(id)
	}
	if one.token != nil {
		if params, err = withToken(params, strconv.AppendInt(nil, id, 10)); err != nil {
			return Response{}, err
		}
	}
	if err := c.queue.push(wire.AppendRequest(nil, id, r.Method, params)); err != nil {
		return Response{}, err
	}
	select {
	case response := <-one.response:
		return response, nil
	case <-ctx.Done():
		params := append(strconv.AppendInt([]byte(`{"requestId":`), id, 10), '}')
		_ = c.Notify("notifications/cancelled", params)
		if r.Late != nil && c.await(id, r.Late) {
			remove = c.removeLater
		}
		return Response{}, ctx.Err()
	case <-c.done:
		select { // the response came before the end
		case response := <-one.response:
			return response, nil
		default:
			return Response{}, c.err
		}
	}
}

func (c *Conn) add(one *call) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.last++
	c.calls[c.last] = one
	return c.last, nil
}

func (c *Conn) remove(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// await sets what the response to a cancelled request calls. If it has arrived, it
// calls late and reports false.
func (c *Conn) await(id int64, late func()) bool {
	c.mu.Lock()
	one := c.calls[id]
	if one != nil {
		one.late, one.progress = late, nil
	}
	c.mu.Unlock()
	if one == nil {
		late()
	}
	return one != nil
}

func (c *Conn) removeLater(id int64) {
	time.AfterFunc(LateTime, c.options.Tasks.Func("cancelled request", func() { c.remove(id) }))
}

// Notify sends a notification. It returns ErrBusy if the program does not read
// its input.
func (c *Conn) Notify(method string, params []byte) error {
	return c.queue.push(wire.AppendNotification(nil, method, params))
}

// Respond sends the response to a request of the program with its raw id. Errors are those of
// Notify.
func (c *Conn) Respond(id []byte, response Response) error {
	b := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), ',')
	if response.RPCError != nil {
		b = append(append(b, `"error":`...), response.RPCError...)
	} else {
		b = append(append(b, `"result":`...), response.Result...)
	}
	return c.queue.push(append(b, '}'))
}

// read processes the output until it ends.
func (c *Conn) read() {
	err := readLines(c.options.Out, c.line, c.options.Stray)
	if err == nil {
		err = ErrEnded
	}
	c.fail(err)
}

// line processes one line of output. It reports whether it is a message or an
// array of messages.
func (c *Conn) line(line []byte) bool {
	if rawjson.Kind(line) != '[' {
		return c.message(line)
	}
	elements, err := rawjson.Elements(line, rawjson.Lenient)
	if err != nil || len(elements) == 0 {
		return false
	}
	for _, element := range elements {
		if !c.message(element) && c.options.Stray != nil {
			c.options.Stray(element)
		}
	}
	return true
}

func (c *Conn) message(raw []byte) bool {
	m, err := wire.ParseMessage(raw)
	switch {
	case err != nil:
		return false
	case m.Method != "" && m.ID != nil:
		c.options.Serve(bytes.Clone(m.ID), m.Method, bytes.Clone(m.Params))
	case m.Method != "":
		c.notification(m.Method, bytes.Clone(m.Params))
	default:
		c.response(m)
	}
	return true
}

// response passes a response to its call. Those without a call, and second ones,
// are dropped: they could be those of another caller.
func (c *Conn) response(m wire.Message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	one := c.calls[id]
	delete(c.calls, id)
	var late func()
	if one != nil {
		late = one.late
	}
	c.mu.Unlock()
	switch {
	case one == nil:
		return
	case late != nil:
		late()
		return
	}
	one.response <- Response{Result: bytes.Clone(m.Result), RPCError: bytes.Clone(m.RPCError)}
}

func (c *Conn) notification(method string, params []byte) {
	if method != "notifications/progress" {
		c.options.Notify(method, params)
		return
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	id, err := strconv.ParseInt(string(o.Get("progressToken")), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	one := c.calls[id]
	var progress func([]byte)
	if one != nil {
		progress = one.progress
	}
	c.mu.Unlock()
	if progress == nil || one.token == nil {
		return
	}
	o.Set("progressToken", one.token)
	progress(o.Bytes())
}

// withToken returns params with another progress token.
func withToken(params, token []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParams, err)
	}
	meta := o.Object("_meta")
	if meta == nil {
		return params, nil
	}
	meta.Set("progressToken", token)
	o.Set("_meta", meta.Bytes())
	return o.Bytes(), nil
}
