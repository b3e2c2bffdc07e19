package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mcpgateway/services/access/keys"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
)

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + gateway.VersionLatestHandshake +
	`","capabilities":{},"clientInfo":{"name":"gateway-doctor","version":"1"}}}`

// Replicas learn of a new key or token within a second.
const (
	retryEvery = 250 * time.Millisecond
	maxRetries = 12
)

// key creates a temporary key.
func (r *run) key(ctx context.Context) outcome {
	attributes := keys.Attributes{Name: Name, Lifetime: keyLife}
	if t := r.At.Toolset(); t != nil {
		attributes.Toolsets = []string{t.Slug}
	}
	projectID := r.At.Project().ID
	row, text, err := r.Keys.CreateScoped(ctx, projectID, attributes)
	if err != nil {
		return stop(fault.From(err).Message, "Revoke unused keys, then run the doctor again.")
	}
	r.bearer = text.Reveal()
	r.left = append(r.left, leftover{"temporary key", func(ctx context.Context) error { return r.Keys.Discard(ctx, projectID, row.ID) }})
	return ok("Created for this test.")
}

// initialize opens a session.
func (r *run) initialize(ctx context.Context) outcome {
	var got *response
	for range maxRetries {
		var err error
		if got, err = r.rpc(ctx, initializeBody); err != nil {
			return stop(clip(err.Error()), "Run the doctor again.")
		}
		if got.status != http.StatusUnauthorized || !pause(ctx, retryEvery) {
			break
		}
	}
	if got.status == http.StatusUnauthorized {
		return stop("The credentials didn't arrive unchanged.", "Let the proxy pass the Authorization header on unchanged, and check that replicas share one database.")
	}
	result, problem := resultOf(got)
	if problem != "" {
		return stop(problem, "Forward POST requests and their JSON responses unchanged.")
	}
	if r.session = got.header.Get(headerSession); r.session == "" {
		return stop("The proxy removes the Mcp-Session-Id header from responses.", "Let the proxy return all headers of the gateway.")
	}
	version, _ := result.String("protocolVersion")
	return ok("MCP %s", clip(version))
}

// pause waits, and reports false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// resultOf returns the result of a JSON-RPC response, or why there is none.
func resultOf(got *response) (result *rawjson.Object, problem string) {
	message, err := rawjson.ParseObject(got.body, rawjson.Lenient)
	if err == nil && got.status == http.StatusOK {
		if result, err = rawjson.ParseObject(message.Get("result"), rawjson.Lenient); err == nil {
			return result, ""
		}
	}
	return nil, strings.TrimSpace(fmt.Sprintf("HTTP %d without a JSON-RPC result. %s", got.status, got.message()))
}

// tools counts the listed tools.
func (r *run) tools(ctx context.Context) outcome {
	n, params := 0, []byte("{}")
	for range maxPages {
		got, err := r.rpc(ctx, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":`+string(params)+`}`)
		if err != nil {
			return fail(clip(err.Error()), "Run the doctor again.")
		}
		result, problem := resultOf(got)
		if problem != "" {
			return fail(problem, "Let the proxy pass the Mcp-Session-Id header on, and allow responses of several megabytes.")
		}
		tools, err := rawjson.Elements(result.Get("tools"), rawjson.Lenient)
		if err != nil {
			return fail("The response has no list of tools.", "Return responses of the gateway unchanged.")
		}
		n += len(tools)
		next, more := result.String("nextCursor")
		if !more {
			break
		}
		params = append(rawjson.AppendString([]byte(`{"cursor":`), next), '}')
	}
	return ok("%d tools, including built-in ones", n)
}

// stream opens an event stream, whose first event the gateway sends at once.
func (r *run) stream(ctx context.Context) outcome {
	buffered := fail("No event arrived: the proxy holds responses back until they end.",
		"Turn buffering off for /v1/mcp/ (nginx: proxy_buffering off; proxy_cache off;) and set its read timeout to at least 1 hour. Compression of text/event-stream must be off too.")
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	header := map[string]string{"Accept": "text/event-stream"}
	if r.bearer != "" {
		header["Authorization"] = "Bearer " + r.bearer
	}
	resp, err := r.open(ctx, request{http.MethodGet, r.base + "/sse", header, ""})
	if errors.Is(err, context.DeadlineExceeded) {
		return buffered
	}
	if err != nil {
		return fail(clip(err.Error()), "Run the doctor again.")
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		return fail(fmt.Sprintf("HTTP %d and %s instead of an event stream.", resp.StatusCode, clip(kind)), "Forward GET requests below /v1/mcp/ and their responses unchanged.")
	}
	line, err := bufio.NewReader(io.LimitReader(resp.Body, 1<<10)).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "event:") {
		return buffered
	}
	return ok("The first event arrived at once.")
}

// streamTime is the time for the first event of a stream, which takes milliseconds.
const streamTime = 4 * time.Second
