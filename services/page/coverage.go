package page

// CoverageKind is the completeness of a search.
type CoverageKind string

// The kinds of coverage.
const (
	Complete CoverageKind = "complete"
	Partial  CoverageKind = "partial"
)

// Coverage is the coverage of a search (contract, "Built-in tools").
// Unavailable lists what a partial search left out.
type Coverage struct {
	Kind        CoverageKind  `json:"kind"`
	Unavailable []Unavailable `json:"unavailable,omitempty"`
}

// Unavailable is an upstream server, by alias, whose tools could not be
// searched, and the reason.
type Unavailable struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}
