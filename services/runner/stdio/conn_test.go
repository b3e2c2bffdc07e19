package stdio_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/stdio"
)

// program is the other end of a connection.
type program struct {
	*stdio.Conn
	in  *bufio.Reader // what the connection wrote
	out *io.PipeWriter

	mu            sync.Mutex
	notifications []string
	requests      []string
	stray         int
}

func newProgram(t *testing.T) *program {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &program{in: bufio.NewReader(inR), out: outW}
	p.Conn = stdio.NewConn(stdio.Options{
		In: inW, Out: outR,
		Notify: func(method string, params []byte) { p.add(&p.notifications, method+" "+string(params)) },
		Serve: func(id []byte, method string, params []byte) {
			p.add(&p.requests, string(id)+" "+method+" "+string(params))
			if err := p.Respond(id, stdio.Response{Result: []byte(`{"roots":[]}`)}); err != nil {
				t.Error(err)
			}
		},
		Stray: func([]byte) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.stray++
		},
	})
	t.Cleanup(func() {
		_, _ = outW.Close(), inR.Close()
		<-p.Done()
	})
	return p
}

func (p *program) add(list *[]string, one string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, one)
}

func (p *program) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.out, text); err != nil {
		t.Fatal(err)
	}
}

func (p *program) read(t *testing.T) string {
	t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

type outcome struct {
	response stdio.Response
	err      error
	progress []string
}

func (p *program) call(ctx context.Context, params string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.response, o.err = p.Call(ctx, "tools/call", []byte(params), func(params []byte) { o.progress = append(o.progress, string(params)) })
		done <- o
	}()
	return done
}

func TestCall(t *testing.T) {
	p := newProgram(t)
	call := p.call(t.Context(), "{\"name\":\"x\",\r\n\"_meta\":{\"progressToken\":\"mine\"}}")
	if got := p.read(t); got != `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",  "_meta":{"progressToken":1}}}` {
		t.Errorf("sent %s", got)
	}
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`+"\r\n")
	p.write(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":2}}`+"\n")
	p.write(t, `{"jsonrpc":"2.0","id":9,"result":{"of":"nobody"}}`+"\n")
	p.write(t, `{"jsonrpc":"2.0","id":"1","result":{"of":"another type"}}`+"\n")
	p.write(t, `{"jsonrpc":"2.0","id":1,"result":{"of":"1"}}`+"\n"+`{"jsonrpc":"2.0","id":1,"result":{"second":true}}`+"\n")
	got := <-call
	if got.err != nil || string(got.response.Result) != `{"of":"1"}` {
		t.Errorf("response %s, %v", got.response.Result, got.err)
	}
	if len(got.progress) != 1 || got.progress[0] != `{"progressToken":"mine","progress":1}` {
		t.Errorf("progress %v", got.progress)
	}
	call = p.call(t.Context(), `{}`)
	p.read(t)
	p.write(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`+"\n")
	if got := <-call; string(got.response.RPCError) != `{"code":-32601,"message":"no"}` {
		t.Errorf("response %+v", got)
	}
}

// TestOwnResponses calls with equal progress tokens and responds in another order.
func TestOwnResponses(t *testing.T) {
	p := newProgram(t)
	const n = 64
	calls := make([]<-chan outcome, n)
	for i := range n {
		calls[i] = p.call(t.Context(), fmt.Sprintf(`{"of":"%d","_meta":{"progressToken":1}}`, i))
	}
	var lines []string
	for range n {
		lines = append(lines, p.read(t))
	}
	for i := n - 1; i >= 0; i-- {
		o, err := rawjson.ParseObject([]byte(lines[i]), rawjson.Strict)
		if err != nil {
			t.Fatal(err)
		}
		of, id := string(o.Object("params").Get("of")), string(o.Get("id"))
		p.write(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"of":%s}}`+"\n", id, of))
		p.write(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"of":%s}}`+"\n", id, of))
	}
	for i, call := range calls {
		got := <-call
		if want := fmt.Sprintf(`{"of":"%d"}`, i); string(got.response.Result) != want || len(got.progress) != 1 || got.progress[0] != fmt.Sprintf(`{"progressToken":1,"of":"%d"}`, i) {
			t.Errorf("call %d: %s, %v", i, got.response.Result, got.progress)
		}
	}
}

func TestCancelled(t *testing.T) {
	p := newProgram(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := p.call(ctx, `{}`)
	p.read(t)
	cancel()
	if got := p.read(t); got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` {
		t.Errorf("sent %s", got)
	}
	if got := <-call; !errors.Is(got.err, context.Canceled) {
		t.Errorf("call: %v", got.err)
	}
}

// TestLateResponse responds to a cancelled request, and sends its progress.
func TestLateResponse(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		late  int
	}{{0, 1}, {stdio.LateTime - 1, 1}, {stdio.LateTime + 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t)
			late := 0
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := p.Do(ctx, stdio.Request{
					Method: "tools/call", Params: []byte(`{"_meta":{"progressToken":1}}`), Late: func() { late++ },
					Progress: func([]byte) { t.Error("progress after the cancellation") },
				})
				done <- err
			}()
			p.read(t)
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			p.read(t) // notifications/cancelled
			time.Sleep(c.after)
			p.write(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`+"\n")
			for range 2 {
				p.write(t, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
			}
			synctest.Wait()
			if late != c.late {
				t.Errorf("after %v: late called %d times, want %d", c.after, late, c.late)
			}
		})
	}
}

func TestRequestsAndNotifications(t *testing.T) {
	p := newProgram(t)
	p.write(t, "\ufeff"+`[{"jsonrpc":"2.0","id":"a","method":"roots/list"},{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}]`+"\n")
	if got := p.read(t); got != `{"jsonrpc":"2.0","id":"a","result":{"roots":[]}}` {
		t.Errorf("sent %s", got)
	}
	_ = p.out.Close()
	<-p.Done()
	if len(p.requests) != 1 || len(p.notifications) != 1 || p.notifications[0] != `notifications/message {"level":"info"}` || p.stray != 0 {
		t.Errorf("requests %v, notifications %v, %d other lines", p.requests, p.notifications, p.stray)
	}
}

func TestEndFailsCalls(t *testing.T) {
	p := newProgram(t)
	call := p.call(t.Context(), `{}`)
	p.read(t)
	p.write(t, "starting\n\n[1,2]\n")
	_ = p.out.Close()
	if got := <-call; !errors.Is(got.err, stdio.ErrEnded) {
		t.Errorf("call: %v", got.err)
	}
	if _, err := p.Call(t.Context(), "ping", nil, nil); !errors.Is(err, stdio.ErrEnded) {
		t.Errorf("later call: %v", err)
	}
	if p.stray != 3 { // neither element of the array is a message
		t.Errorf("%d other lines", p.stray)
	}
}

func TestLongestLine(t *testing.T) {
	const frame = len(`{"jsonrpc":"2.0","id":1,"result":{"x":""}}`)
	for size, want := range map[int]error{stdio.MaxLine - 1: nil, stdio.MaxLine: nil, stdio.MaxLine + 1: stdio.ErrLine} {
		p := newProgram(t)
		call := p.call(t.Context(), `{}`)
		p.read(t)
		go func() {
			_, _ = io.WriteString(p.out, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", size-frame)+`"}}`+"\r\n")
		}()
		if got := <-call; !errors.Is(got.err, want) {
			t.Errorf("%d bytes: %v", size, got.err)
		}
	}
}

func TestMostStrayOutput(t *testing.T) {
	chunk := strings.Repeat("x", 1<<20-1) + "\n"
	for lines, want := range map[int]error{31: stdio.ErrEnded, 32: stdio.ErrEnded, 33: stdio.ErrStray} {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t)
			for range lines {
				if _, err := io.WriteString(p.out, chunk); err != nil {
					break
				}
			}
			go func() { _ = p.out.Close() }()
			<-p.Done()
			if err := p.Err(); !errors.Is(err, want) {
				t.Errorf("%d MiB: %v", lines, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t)
		for range 3 {
			for range 20 {
				p.write(t, chunk)
			}
			time.Sleep(stdio.StrayTime + time.Second)
		}
		_ = p.out.Close()
		<-p.Done()
		if err := p.Err(); !errors.Is(err, stdio.ErrEnded) {
			t.Errorf("20 MiB in each time: %v", err)
		}
	})
}

func TestUnreadInput(t *testing.T) {
	for _, c := range []struct {
		what        string
		size, count int // largest number of messages that fit, besides the one being written
	}{
		{"messages", 100, stdio.MaxQueued},
		{"bytes", 1<<20 - 100, 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(t)
			params := []byte(`{"x":"` + strings.Repeat("x", c.size) + `"}`)
			send := func() error {
				err := p.Notify("notifications/x", params)
				synctest.Wait()
				return err
			}
			fit := 0
			for ; fit < 2*stdio.MaxQueued; fit++ {
				if err := send(); err != nil {
					if !errors.Is(err, stdio.ErrBusy) {
						t.Error(err)
					}
					break
				}
			}
			if c.what == "messages" && fit != c.count+1 || c.what == "bytes" && fit != c.count {
				t.Errorf("%s: %d fit", c.what, fit)
			}
			p.read(t)
			synctest.Wait()
			if err := send(); err != nil {
				t.Errorf("%s: after one was read: %v", c.what, err)
			}
		})
	}
}
