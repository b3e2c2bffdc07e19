package sources

import "time"

// Limits of the rows of a source. Characters are code points.
const (
	MaxRows      = 200_000   // entries, and the same number of templates
	MaxFileBytes = 128 << 20 // size of a document in the catalog's own format

	MaxName        = 200 // characters of publisherName and serverName together with the /
	MaxTitle       = 200
	MaxDescription = 1000
	MaxEvidence    = 300

	maxVersion     = 255
	maxShort       = 200 // role, category, header and package names
	maxURL         = 2048
	maxDocument    = 64 << 10 // bytes of an official server object
	maxTags        = 30
	maxTag         = 50
	maxSecrets     = 100
	maxSecret      = 128
	maxTools       = 5000
	maxPackages    = 10
	maxPackageArgs = 20
	maxTool        = 128
	maxRelated     = 30
	maxSteps       = 30
	maxStep        = 500
	maxMinutes     = 7 * 24 * 60
	maxWarnings    = 100
)

// Limits of one sync with an official registry.
const (
	pageRows     = 100 // requested rows per page
	maxPages     = 5000
	maxPageBytes = 16 << 20
	maxAllBytes  = 512 << 20
	maxCursor    = 4096
	maxETag      = 500 // bytes; longer ones are ignored
	pageTimeout  = 30 * time.Second
	// syncOverlap is subtracted from the time of the last sync, because clocks
	// differ and rows change during a sync.
	syncOverlap = time.Minute
)
