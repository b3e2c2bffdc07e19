package upstreamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// Demo returns the options of the two demo servers, Clock and TextTools.
func Demo() []Options { return []Options{Clock(time.Now), TextTools()} }

// typed returns a handler that decodes the arguments into In, rejects unknown
// ones, and returns run's result as structuredContent. Invalid arguments and
// errors become results with isError, whose text helps a model to correct the
// call (MCP 2025-11-25, tools, error handling).
func typed[In, Out any](run func(In) (Out, error)) Handler {
	return func(_ context.Context, c *Call) Result {
		var in In
		d := json.NewDecoder(bytes.NewReader(orEmpty(c.Arguments)))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return Failure("The arguments do not fit the input schema: " + err.Error())
		}
		out, err := run(in)
		if err != nil {
			return Failure(err.Error())
		}
		raw, err := json.Marshal(out)
		if err != nil {
			return Failure("The result cannot be written as JSON: " + err.Error())
		}
		return Structured(raw)
	}
}
