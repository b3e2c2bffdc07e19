package page

// CoverageKind says whether everything was searched.
type CoverageKind string

// The kinds of coverage.
const (
	Complete CoverageKind = "complete"
	Partial  CoverageKind = "partial"
)

// Coverage tells what a search looked at (contract, "Built-in tools").
// Unavailable is what a partial one had to leave out.
type Coverage struct {
	Kind        CoverageKind  `json:"kind"`
	Unavailable []Unavailable `json:"unavailable,omitempty"`
}

// Unavailable is an upstream server, by its alias, whose tools could not be
// searched, and why.
type Unavailable struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
}
