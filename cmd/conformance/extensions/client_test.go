//go:build conformance

package extensions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/cmd/internal/stage"
)

const (
	sdk1 = "sdk1.mjs"
	sdk2 = "sdk2.mjs"

	// answerLimit is the timeout of a command of a client.
	answerLimit = 30 * time.Second
)

// object is a JSON object.
type object = map[string]any

// client is a program with a client of a TypeScript SDK (see clients/repl.mjs).
type client struct {
	name     string
	stdin    io.WriteCloser
	outcomes chan outcome
	opened   opened

	mu     sync.Mutex
	seen   []message // all but outcomes
	bodies []string
	change chan struct{} // closed and replaced with each message
}

// opened is the part of initialize or server/discover that tests compare.
type opened struct {
	ProtocolVersion string
	ServerInfo      struct{ Name, Title string }
	Capabilities    struct{ Extensions map[string]json.RawMessage }
}

// message is a notification or a request of the server.
type message struct {
	Method string
	Params json.RawMessage
}

// outcome is the end of a command.
type outcome struct {
	result json.RawMessage
	err    *failure
}

// failure is the error of a command.
type failure struct {
	Code    any
	Message string
	Data    json.RawMessage
}

// Error returns the code and the message.
func (f *failure) Error() string { return fmt.Sprintf("%v %s %s", f.Code, f.Message, f.Data) }

// settings are the options of a client's command line.
type settings struct {
	URL          string            `json:"url"`
	Bearer       string            `json:"bearer,omitempty"`
	Legacy       bool              `json:"legacy,omitempty"`
	Capabilities object            `json:"capabilities,omitempty"`
	Answers      map[string]object `json:"results,omitempty"`
}

// connect starts a client and waits until it is connected. It ends with the test.
func connect(t *testing.T, script string, s settings) *client {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join("..", "clients", script))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", path, string(raw))
	cmd.Env = stage.BareEnvironment(t.TempDir())
	c := &client{name: script, outcomes: make(chan outcome, 16), change: make(chan struct{})}
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.read(stdout)
	}()
	t.Cleanup(func() {
		_ = c.stdin.Close() // the program then exits
		<-ended
		_ = cmd.Wait() // killed if it didn't
		if stderr.Len() > 0 {
			t.Logf("%s: %s", script, stderr.String())
		}
	})
	result := c.outcome(t)
	if result.err != nil {
		t.Fatalf("%s: connect: %v", script, result.err)
	}
	decode(t, result.result, &c.opened)
	return c
}

// read stores the program's output.
func (c *client) read(stdout io.Reader) {
	defer close(c.outcomes)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Result              json.RawMessage
			Error               *failure
			Notification, Asked *message
			Body                string
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // a package's own output
		}
		if line.Result != nil || line.Error != nil {
			c.outcomes <- outcome{line.Result, line.Error}
			continue
		}
		c.mu.Lock()
		for _, m := range []*message{line.Notification, line.Asked} {
			if m != nil {
				c.seen = append(c.seen, *m)
			}
		}
		if line.Body != "" {
			c.bodies = append(c.bodies, line.Body)
		}
		close(c.change)
		c.change = make(chan struct{})
		c.mu.Unlock()
	}
}

// outcome waits for the end of a command.
func (c *client) outcome(t *testing.T) outcome {
	t.Helper()
	select {
	case o, running := <-c.outcomes:
		if !running {
			t.Fatalf("%s ended", c.name)
		}
		return o
	case <-time.After(answerLimit):
		t.Fatalf("%s: no outcome within %v; seen: %s", c.name, answerLimit, c.messages())
	}
	return outcome{}
}

// begin starts a command. Its end is read with outcome.
func (c *client) begin(t *testing.T, command string, members object) {
	t.Helper()
	line := object{"do": command}
	for name, value := range members {
		line[name] = value
	}
	raw, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.stdin.Write(append(raw, '\n')); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

// try runs a command.
func (c *client) try(t *testing.T, command string, members object) outcome {
	t.Helper()
	c.begin(t, command, members)
	return c.outcome(t)
}

// do runs a command that must succeed and decodes its result.
func (c *client) do(t *testing.T, command string, members object, result any) {
	t.Helper()
	o := c.try(t, command, members)
	if o.err != nil {
		t.Fatalf("%s: %s %v: %v", c.name, command, members, o.err)
	}
	if result != nil {
		decode(t, o.result, result)
	}
}

// request sends a request of any method.
func (c *client) request(t *testing.T, method string, params object, result any) {
	t.Helper()
	c.do(t, "request", object{"method": method, "params": params}, result)
}

// fault sends a request that must fail and returns the error.
func (c *client) fault(t *testing.T, method string, params object) *failure {
	t.Helper()
	o := c.try(t, "request", object{"method": method, "params": params})
	if o.err == nil {
		t.Fatalf("%s: %s %v: got %s, want an error", c.name, method, params, o.result)
	}
	return o.err
}

// callTool returns the text of a tool's result.
func (c *client) callTool(t *testing.T, name string, arguments object) string {
	t.Helper()
	var result toolResult
	c.do(t, "callTool", object{"params": object{"name": name, "arguments": arguments}}, &result)
	return result.text(t)
}

// tools returns the names of the listed tools.
func (c *client) tools(t *testing.T) []string {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	c.do(t, "listTools", nil, &list)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// messages returns what the server has sent so far.
func (c *client) messages() []message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// count returns how many messages of a method contain text.
func (c *client) count(method, text string) int {
	n := 0
	for _, m := range c.messages() {
		if m.Method == method && strings.Contains(string(m.Params), text) {
			n++
		}
	}
	return n
}

// await waits until the server has sent n messages of a method that contain text.
func (c *client) await(t *testing.T, method, text string, n int) {
	t.Helper()
	limit := time.After(answerLimit)
	for {
		c.mu.Lock()
		change := c.change
		c.mu.Unlock()
		if c.count(method, text) >= n {
			return
		}
		select {
		case <-change:
		case <-limit:
			t.Fatalf("%s: %d of %d %s with %q; seen: %s", c.name, c.count(method, text), n, method, text, c.messages())
		}
	}
}

// String returns the message for a test's log.
func (m message) String() string { return m.Method + " " + string(m.Params) }

// toolResult is the result of tools/call.
type toolResult struct {
	Content []struct {
		Type, Text, URI string
	}
	StructuredContent json.RawMessage
	IsError           bool
}

// text returns the texts of a success.
func (r *toolResult) text(t *testing.T) string {
	t.Helper()
	if r.IsError || len(r.Content) == 0 {
		t.Fatalf("unexpected tool result %+v", *r)
	}
	var texts []string
	for _, block := range r.Content {
		texts = append(texts, block.Text)
	}
	return strings.Join(texts, "\n")
}

func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("unexpected result %s: %v", raw, err)
	}
}
