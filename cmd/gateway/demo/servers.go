package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// Servers returns the options of the two demonstration servers: Clock and
// TextTools, both useful as they are.
func Servers() []upstreamtest.Options { return []upstreamtest.Options{Clock(time.Now), TextTools()} }

// typed returns a handler that decodes the arguments into In, refuses unknown
// ones, and answers with what run returns as structuredContent. Wrong
// arguments and errors become results with isError, whose text tells a model
// what to do better (MCP 2025-11-25, tools, error handling).
func typed[In, Out any](run func(In) (Out, error)) upstreamtest.Handler {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		var in In
		arguments := c.Arguments
		if arguments == nil {
			arguments = []byte("{}")
		}
		d := json.NewDecoder(bytes.NewReader(arguments))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return upstreamtest.Failure("The arguments do not fit the input schema: " + err.Error())
		}
		out, err := run(in)
		if err != nil {
			return upstreamtest.Failure(err.Error())
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return upstreamtest.Failure("The result cannot be written as JSON: " + err.Error())
		}
		return upstreamtest.Structured(raw)
	}
}
