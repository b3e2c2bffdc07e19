package page

import (
	"bytes"
	"math"
	"strconv"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Bounds of a page (spec, "Limits") and of what a cursor carries.
const (
	DefaultLimit = 20
	MaxLimit     = 50
	MaxCursor    = 2048 // characters of a cursor that is looked at
	MaxRevision  = 128  // bytes
	MaxPosition  = 1024 // bytes
)

// Range is the whole numbers that a parameter of a page takes, both ends
// included, and the one that stands for an absent parameter.
type Range struct {
	Name              string
	Min, Max, Default int
}

// QueryLimit returns the range of the rows of one page of an expressive search
// (spec, "Limits").
func QueryLimit() Range {
	return Range{Name: "limit", Min: 1, Max: MaxLimit, Default: DefaultLimit}
}

// Check returns n, or an INVALID_PARAMETER fault when it is out of range.
func (r Range) Check(n int) (int, error) {
	if n < r.Min || n > r.Max {
		return 0, r.fault()
	}
	return n, nil
}

// Parse returns the number that text, a parameter of an address, holds in
// decimal digits, or the default for an empty text. It returns an
// INVALID_PARAMETER fault for everything else.
func (r Range) Parse(text string) (int, error) {
	if text == "" {
		return r.Default, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] < '0' || text[0] > '9' { // a sign is no digit
		return 0, r.fault()
	}
	return r.Check(n)
}

// Decode returns the number that a valid JSON value holds, an integer in the
// sense of JSON Schema (so 20.0 is one), or the default for no value at all.
// It returns an INVALID_PARAMETER fault for everything else, null included.
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
	return fault.Invalid("%s must be a whole number from %d to %d", r.Name, r.Min, r.Max)
}
