//go:build ha

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the upstream servers: one runs all the time, one is restarted.
const (
	steadyServer    = "steady"
	restartedServer = "restarted"
)

// haClient calls tools sequentially in its own session or, with revision
// 2026-07-28, without one.
type haClient struct {
	name   string
	http   *http.Client
	header map[string]string
}

// call calls the tool echo of a server and returns nil for a correct result.
func (c *haClient) call(ctx context.Context, base, server string, n int) error {
	text := fmt.Sprintf("%s-%d", c.name, n)
	return c.send(ctx, base, server+"__echo", fmt.Sprintf(`{"text":%q}`, text), n, text)
}

// sleep calls the slow tool of a server.
func (c *haClient) sleep(ctx context.Context, base, server string, n int) error {
	return c.send(ctx, base, server+"__sleep", fmt.Sprintf(`{"ms":%d}`, haWork.Milliseconds()), n, "slept")
}

func (c *haClient) send(ctx context.Context, base, tool, arguments string, n int, want string) error {
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}`, n, tool, arguments, c.meta())
	request, err := mcpRequest(ctx, base, "keyed", message, c.header)
	if err != nil {
		return err
	}
	if c.stateless() {
		request.Header.Set("Mcp-Method", "tools/call")
		request.Header.Set("Mcp-Name", tool)
	}
	status, _, body, err := exchange(c.http, request)
	if err != nil {
		return err
	}
	var answer struct {
		ID     int
		Error  *struct{ Data struct{ Code string } }
		Result struct{ Content []struct{ Text string } }
	}
	if status != http.StatusOK {
		return &badAnswer{status: status, body: string(body)}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return &badAnswer{status: status, code: "no JSON", body: string(body)}
	}
	if answer.Error != nil {
		return &badAnswer{status: status, code: answer.Error.Data.Code, body: string(body)}
	}
	if answer.ID != n || len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != want {
		return &badAnswer{status: status, code: "another answer", body: string(body)}
	}
	return nil
}

func (c *haClient) stateless() bool { return c.header["MCP-Protocol-Version"] == modern }

func (c *haClient) meta() string {
	if !c.stateless() {
		return ""
	}
	return `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"ha","version":"1"}}`
}

// badAnswer is the error for the result of another call.
type badAnswer struct {
	status     int
	code, body string
}

func (e *badAnswer) Error() string { return fmt.Sprintf("%d %s: %.300s", e.status, e.code, e.body) }

// tally counts the results of all clients.
type tally struct {
	mu      sync.Mutex
	ok      int
	cut     int            // calls whose connection failed
	down    int            // calls during an outage of the upstream server
	failed  map[string]int // other failures by kind
	samples []string
	took    []time.Duration // of successful calls
	outages [][2]time.Time  // of the upstream server; the last may be open
}

// note counts the result of a call.
func (y *tally) note(c *haClient, server string, began time.Time, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	var bad *badAnswer
	errors.As(err, &bad)
	switch {
	case err == nil:
		y.ok++
		y.took = append(y.took, time.Since(began))
	case bad == nil, bad.status == http.StatusBadGateway && bad.body == "":
		y.cut++
	case server == restartedServer && strings.HasPrefix(bad.code, "UPSTREAM_UNAVAILABLE") && y.duringOutage(began):
		y.down++
	default:
		y.failed[fmt.Sprintf("%d %s", bad.status, bad.code)]++
		if len(y.samples) < 10 {
			y.samples = append(y.samples, fmt.Sprintf("%s to %s at %s: %v", c.name, server, began.Format(time.StampMilli), err))
		}
	}
}

// completed returns the number of calls with a result.
func (y *tally) completed() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.ok
}

// duringOutage reports whether a call that began then overlapped the upstream's
// outage. The caller must hold the mutex.
func (y *tally) duringOutage(began time.Time) bool {
	return slices.ContainsFunc(y.outages, func(o [2]time.Time) bool {
		return time.Now().After(o[0]) && (o[1].IsZero() || began.Before(o[1]))
	})
}

// outage records the start of the upstream's outage. The returned function
// records its end.
func (y *tally) outage() (over func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.outages = append(y.outages, [2]time.Time{time.Now()})
	return func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.outages[len(y.outages)-1][1] = time.Now()
	}
}

// percentile returns the latency that the fraction p of successful calls did not
// exceed.
func (y *tally) percentile(p float64) time.Duration {
	slices.Sort(y.took)
	return y.took[min(len(y.took)-1, int(p*float64(len(y.took))))]
}
