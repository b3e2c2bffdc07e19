package page

import (
	"bytes"
	"math"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Limits of pages (spec, "Limits") and of the content of cursors.
const (
	DefaultLimit = 20
	MaxLimit     = 50
	MaxCursor    = 2048 // characters; longer cursors are rejected
	MaxRevision  = 128  // bytes
	MaxPosition  = 1024 // bytes
)

// Range is the inclusive range of a page parameter and its default.
type Range struct {
	Name              string
	Min, Max, Default int
}

// QueryLimit returns the range of rows per page of an expressive search (spec,
// "Limits").
func QueryLimit() Range {
	return Range{Name: "limit", Min: 1, Max: MaxLimit, Default: DefaultLimit}
}

// Check returns n, or INVALID_PARAMETER if it is out of range.
func (r Range) Check(n int) (int, error) {
	if n < r.Min || n > r.Max {
		return 0, r.fault()
	}
	return n, nil
}

// Parse returns the decimal number in text, a query parameter, or the default
// for empty text. Otherwise it returns INVALID_PARAMETER.
func (r Range) Parse(text string) (int, error) {
	if text == "" {
		return r.Default, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] < '0' || text[0] > '9' { // no sign
		return 0, r.fault()
	}
	return r.Check(n)
}

// Decode returns the integer in a valid JSON value as defined by JSON Schema
// (20.0 is an integer), or the default if raw is empty. Otherwise, also for
// null, it returns INVALID_PARAMETER.
func (r Range) Decode(raw []byte) (int, error) {
	if len(raw) == 0 {
		return r.Default, nil
	}
	if !rawjson.IsNumber(raw) {
		return 0, r.fault()
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	if err != nil || f != math.Trunc(f) || f < float64(r.Min) || f > float64(r.Max) {
		return 0, r.fault()
	}
	return int(f), nil
}

func (r Range) fault() *fault.Fault {
	return fault.Invalid("%s must be an integer from %d to %d.", r.Name, r.Min, r.Max)
}
