package programtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// Resource is the resource of a server with Options. The tool touch announces its
// change.
const Resource = "program://note"

// Options returns the options of a server with Tools after n standard tools, with
// Resource and log levels.
func Options(n int) upstreamtest.Options {
	return upstreamtest.Options{
		Name: "mockmcp", Record: -1, Tools: append(upstreamtest.Standard(n), Tools()...), Methods: methods(),
		Capabilities: `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}`,
	}
}

// Tools returns the tools of the program:
//
//	process      its ids, arguments, directory, environment and open descriptors
//	roots        the client's roots
//	ask          the client's result for a form
//	sample       the result of the client's model
//	log          sends a log message
//	touch        announces that Resource has changed
//	announce     announces that the list of tools has changed
//	line         responds with a line of exactly BYTES bytes, without its end
//	read, write  add the number N to the file Journal, wait MS and return N
func Tools() []upstreamtest.Tool {
	return []upstreamtest.Tool{
		simple("process", "Returns what the program knows about its process.", describe),
		question("roots", "roots/list", ""),
		question("ask", "elicitation/create", `{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`),
		question("sample", "sampling/createMessage", `{"maxTokens":10,"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}]}`),
		simple("log", "Sends a log message.", notify("notifications/message", `{"level":"warning","data":"a log message"}`)),
		simple("touch", "Announces a changed resource.", announce("notifications/resources/updated", `{"uri":"`+Resource+`"}`)),
		simple("announce", "Announces changed tools.", announce("notifications/tools/list_changed", "")),
		{
			Definition: `{"name":"line","description":"Responds with a line of the given size.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}`,
			Call:       line,
		},
		journaled("read", true),
		journaled("write", false),
	}
}

// methods returns the methods for Resource and for the log level.
func methods() map[string]upstreamtest.Handler {
	result := func(raw string) upstreamtest.Handler {
		return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(raw) }
	}
	return map[string]upstreamtest.Handler{
		"logging/setLevel":         result("{}"),
		"resources/list":           result(`{"resources":[{"uri":"` + Resource + `","name":"note"}]}`),
		"resources/templates/list": result(`{"resourceTemplates":[]}`),
		"resources/read":           result(`{"contents":[{"uri":"` + Resource + `","text":"a note"}]}`),
		"resources/subscribe":      result("{}"),
		"resources/unsubscribe":    result("{}"),
	}
}

func simple(name, description string, call upstreamtest.Handler) upstreamtest.Tool {
	return upstreamtest.Tool{Definition: `{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}`, Call: call}
}

// Process is the result of the tool process.
type Process struct {
	PID         int               `json:"pid"`
	Parent      int               `json:"parent"`
	Arguments   []string          `json:"arguments"`
	Directory   string            `json:"directory"`
	Environment map[string]string `json:"environment"`
	Descriptors []string          `json:"descriptors"` // open ones, where the system lists them
}

func describe(context.Context, *upstreamtest.Call) upstreamtest.Result {
	p := Process{PID: os.Getpid(), Parent: os.Getppid(), Arguments: os.Args, Environment: map[string]string{}}
	p.Directory, _ = os.Getwd() // empty if it was deleted
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		p.Environment[name] = value
	}
	open, _ := os.ReadDir("/dev/fd") // includes the descriptor of this read
	for _, entry := range open {
		p.Descriptors = append(p.Descriptors, entry.Name())
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return upstreamtest.Failure(err.Error())
	}
	return upstreamtest.Structured(raw)
}

// question returns a tool that sends the client a request, as the negotiated
// revision prescribes, and returns the raw result as text.
func question(name, method, params string) upstreamtest.Tool {
	return simple(name, "Requests from the client: "+method+".", func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if c.Era.Stateless() {
			return questionByResult(c, method, params)
		}
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		response, err := c.Request(ctx, method, raw)
		if err != nil {
			return upstreamtest.Failure(err.Error())
		}
		return textOf(response)
	})
}

// textOf returns the result or the error of a client's response.
func textOf(raw []byte) upstreamtest.Result {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return upstreamtest.Failure(err.Error())
	}
	if problem := o.Get("error"); problem != nil {
		return upstreamtest.Failure(string(problem))
	}
	return upstreamtest.Text(string(o.Get("result")))
}

// questionByResult returns a result that requires input (MCP 2026-07-28, "Multi
// round-trip requests").
func questionByResult(c *upstreamtest.Call, method, params string) upstreamtest.Result {
	o, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
	if err != nil {
		return upstreamtest.Error(-32602, err.Error())
	}
	if given := o.Object("inputResponses").Get("it"); given != nil {
		return upstreamtest.Text(string(given))
	}
	if params == "" {
		params = "{}"
	}
	return upstreamtest.JSON(`{"resultType":"input_required","inputRequests":{"it":{"method":"` + method + `","params":` + params + `}},"requestState":"asked"}`)
}

// notify returns a handler that sends a notification on the stream of the call.
func notify(method, params string) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		if err := c.Notify(method, []byte(params)); err != nil {
			return upstreamtest.Failure(err.Error())
		}
		return upstreamtest.Text("sent")
	}
}

// announce returns a handler that sends a notification to all who subscribed.
func announce(method, params string) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		return upstreamtest.Text("announced to " + strconv.Itoa(c.Announce(method, raw)))
	}
}

func line(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
	var in struct{ Bytes int }
	if err := json.Unmarshal(c.Arguments, &in); err != nil || in.Bytes < 1_000 || in.Bytes > 64<<20 {
		return upstreamtest.Error(-32602, "Invalid params: bytes must be an integer from 1000 to 67108864")
	}
	return c.Line(in.Bytes)
}

// Journal is the file in the program's directory that lists the calls of read and
// write: a line has the name of the tool, a space and the number of the call.
const Journal = "journal"

// journaled returns a tool that lists its calls in Journal.
func journaled(name string, readOnly bool) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: fmt.Sprintf(`{"name":%q,"description":"Lists its calls in a file.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"},"ms":{"type":"integer"}},"required":["n"]},"annotations":{"readOnlyHint":%t}}`, name, readOnly),
		Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			var in struct{ N, MS int }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return upstreamtest.Error(-32602, "Invalid params: n must be an integer")
			}
			if err := addLine(Journal, fmt.Sprintf("%s %d\n", name, in.N)); err != nil {
				return upstreamtest.Failure(err.Error())
			}
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-ctx.Done():
			}
			return upstreamtest.Text(strconv.Itoa(in.N))
		},
	}
}

// addLine adds a line to a file in one write, so that lines of concurrent calls
// are whole.
func addLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
