package upstreamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcpgateway/services/rawjson"
)

// Echo returns a tool that returns its argument text.
func Echo() Tool {
	return Tool{
		Definition: `{"name":"echo","title":"Echo","description":"Returns the given text unchanged.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]},"annotations":{"readOnlyHint":true}}`,
		Call: func(_ context.Context, c *Call) Result {
			o, err := rawjson.ParseObject(orEmpty(c.Arguments), rawjson.Lenient)
			if err != nil {
				return Error(codeInvalidParams, "Invalid params: "+err.Error())
			}
			text := o.Get("text")
			if rawjson.Kind(text) != '"' {
				return Error(codeInvalidParams, "Invalid params: text must be a string")
			}
			out := make([]byte, 0, len(text)+48) // the text keeps its spelling
			out = append(append(out, `{"content":[{"type":"text","text":`...), text...)
			return Result{JSON: append(out, `}]}`...)}
		},
	}
}

// Add returns a tool that returns the sum of the numbers a and b, as text and
// as structuredContent.
func Add() Tool {
	return Tool{
		Definition: `{"name":"add","title":"Add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`,
		Call: func(_ context.Context, c *Call) Result {
			var in struct{ A, B *float64 }
			if err := json.Unmarshal(orEmpty(c.Arguments), &in); err != nil || in.A == nil || in.B == nil {
				return Error(codeInvalidParams, "Invalid params: a and b must be numbers")
			}
			out, err := json.Marshal(map[string]float64{"sum": *in.A + *in.B})
			if err != nil {
				return Failure("The sum is not a number that JSON can hold.")
			}
			return Structured(out)
		},
	}
}

// Sleep returns a tool that waits for ms milliseconds or until the call is
// cancelled.
func Sleep() Tool {
	return Tool{
		Definition: `{"name":"sleep","title":"Sleep","description":"Waits before it answers.","inputSchema":{"type":"object","properties":{"ms":{"type":"integer","minimum":0,"description":"How long to wait, in milliseconds."}},"required":["ms"]}}`,
		Call: func(ctx context.Context, c *Call) Result {
			ms, bad := intArgument(c, "ms", 0, 3_600_000)
			if bad != nil {
				return *bad
			}
			if !c.server.sleep(ctx, time.Duration(ms)*time.Millisecond) {
				return Failure("The wait was cut short.")
			}
			return Text("slept")
		},
	}
}

// Big returns a tool that returns a text of the given size.
func Big() Tool {
	return Tool{
		Definition: `{"name":"big","title":"Big","description":"Returns a text of the given size.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer","minimum":0,"description":"Size of the answer's text, in bytes."}},"required":["bytes"]}}`,
		Call: func(_ context.Context, c *Call) Result {
			n, bad := intArgument(c, "bytes", 0, maxBig)
			if bad != nil {
				return *bad
			}
			return Text(strings.Repeat(filler, n/len(filler)+1)[:n])
		},
	}
}

// Fail returns a tool that always returns isError.
func Fail() Tool {
	return Tool{
		Definition: `{"name":"fail","title":"Fail","description":"Always answers with isError true.","inputSchema":{"type":"object","properties":{}}}`,
		Call:       func(context.Context, *Call) Result { return Failure("this tool always fails") },
	}
}

// Progress returns a tool that sends n progress notifications and returns their
// number. It sends none if the client sent no token.
func Progress() Tool {
	return Tool{
		Definition: `{"name":"progress","title":"Progress","description":"Sends n progress notifications before it answers.","inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":0,"description":"How many notifications to send."}},"required":["n"]}}`,
		Call: func(ctx context.Context, c *Call) Result {
			n, bad := intArgument(c, "n", 0, maxProgress)
			if bad != nil {
				return *bad
			}
			sent := 0
			for i := 1; i <= n && ctx.Err() == nil; i++ {
				if c.Progress(float64(i), float64(n), fmt.Sprintf("step %d of %d", i, n)) == nil {
					sent++
				}
			}
			return Text(fmt.Sprintf("sent %d", sent))
		},
	}
}

// Routed returns a tool with an argument that must be repeated in the header
// Mcp-Param-Region in the stateless era.
func Routed() Tool {
	return Tool{
		Definition: `{"name":"routed","title":"Routed","description":"Answers with the region that the call was routed to.","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`,
		Call: func(_ context.Context, c *Call) Result {
			return Text(c.Header.Get("Mcp-Param-Region"))
		},
	}
}

// Standard returns n tools: Echo, Sleep, Big, Fail, Progress and Add, followed
// by generated ones.
func Standard(n int) []Tool {
	tools := []Tool{Echo(), Sleep(), Big(), Fail(), Progress(), Add()}
	if n <= len(tools) {
		return tools[:max(n, 0)]
	}
	return append(tools, Generated(n-len(tools))...)
}

// intArgument returns the integer argument called name, or an error if it is
// missing or out of range.
func intArgument(c *Call, name string, low, high int) (int, *Result) {
	var in map[string]json.RawMessage
	n := 0
	err := json.Unmarshal(orEmpty(c.Arguments), &in)
	if err == nil {
		err = json.Unmarshal(orEmpty(in[name]), &n)
	}
	if err != nil || n < low || n > high {
		r := Error(codeInvalidParams, fmt.Sprintf("Invalid params: %s must be an integer from %d to %d", name, low, high))
		return 0, &r
	}
	return n, nil
}

func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}
