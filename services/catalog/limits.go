package catalog

import "time"

// Bounds of what the catalog takes in. Characters are code points.
const (
	MaxRows      = 200_000   // entries, and as many templates
	MaxFileBytes = 128 << 20 // of a document in the catalog's own format

	maxName        = 200 // characters of publisherName and serverName together with the /
	maxTitle       = 200
	maxDescription = 1000
	maxEvidence    = 300
	maxVersion     = 255
	maxShort       = 200 // role, category, header and package names
	maxURL         = 2048
	maxDocument    = 64 << 10 // bytes of an official server object

	maxTags    = 30
	maxTag     = 50
	maxSecrets = 100
	maxSecret  = 128
	maxTools   = 5000
	maxTool    = 128
	maxRelated = 30
	maxSteps   = 30
	maxStep    = 500
	maxMinutes = 7 * 24 * 60

	maxSources    = 50
	maxSourceName = 100
)

// Bounds of one sync with an official registry.
const (
	pageRows     = 100 // that are asked for
	maxPages     = 5000
	maxPageBytes = 16 << 20
	maxAllBytes  = 512 << 20
	maxCursor    = 4096
	pageTimeout  = 30 * time.Second
	syncTimeout  = 15 * time.Minute
	// syncOverlap is how much of what a sync saw is asked for again by the
	// next, because clocks differ and rows change while they are read.
	syncOverlap = time.Minute
)

// Bounds of a plan's lists; the counts go on.
const (
	maxChanges  = 1000
	maxWarnings = 100
)

// Bounds of legacy searches (spec, "Limits"; contract, "Catalog query
// grammar").
const (
	LegacyDefaultLimit = 500
	LegacyMaxLimit     = 1000
	LegacyMaxOffset    = 10_000
)

// Bounds of the official registry's API as it is served here.
const (
	OfficialDefaultLimit = 30
	OfficialMaxLimit     = 100
)
