package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// Servers returns the options of the two demo servers, Clock and TextTools.
func Servers() []upstreamtest.Options { return []upstreamtest.Options{Clock(time.Now), TextTools()} }

// typed returns a handler that decodes the arguments into In and returns the result
// of run as structuredContent. It rejects unknown arguments. Invalid arguments and
// errors of run become results with isError, so that a model can correct its call
// (MCP 2025-11-25, tools, error handling).
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
			return upstreamtest.Failure("The arguments don't match the input schema: " + err.Error())
		}
		out, err := run(in)
		if err != nil {
			return upstreamtest.Failure(err.Error())
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return upstreamtest.Failure("The result can't be encoded as JSON: " + err.Error())
		}
		return upstreamtest.Structured(raw)
	}
}
