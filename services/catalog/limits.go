package catalog

import "time"

// Limits of the sources and of the list of curated entries.
const (
	maxSources    = 50
	maxSourceName = 100
	syncTimeout   = 15 * time.Minute
	maxCurated    = 1000
)

// Limits of legacy searches (spec, "Limits"; contract, "Catalog query
// grammar").
const (
	LegacyDefaultLimit = 500
	LegacyMaxLimit     = 1000
	LegacyMaxOffset    = 10_000
)

// Limits of the official registry's API as served here.
const (
	OfficialDefaultLimit = 30
	OfficialMaxLimit     = 100
)
