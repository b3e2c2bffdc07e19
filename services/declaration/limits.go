package declaration

import "mcpgateway/services/certificates"

// Limits of projects and servers (contract, "Limits").
const (
	MaxServers            = 200       // per project
	MaxSize               = 4 << 20   // bytes of a declarative file
	MaxPasted             = 256 << 10 // bytes
	MaxName               = 100       // characters
	MaxDescription        = 2000      // characters
	MaxURL                = 2048      // characters
	MaxInstructions       = 8 << 10   // bytes
	MaxIcon               = 32 << 10  // bytes of the URL
	MaxPatterns           = 500       // per filter list, and of a toolset
	MaxPattern            = 256       // bytes
	MaxToolOverrides      = 256 << 10 // bytes of a server's tool overrides as compact JSON
	MaxOverrideReferences = 8         // different ones in the overrides of a server
	MaxToolName           = 400       // bytes of a server's own tool name
	MaxToolTitle          = 200       // characters
	MaxToolText           = 16_384    // characters of a tool's description
	MaxToolPattern        = 512       // bytes of a pattern over exported names
	MaxToolsets           = 100       // per project
	MaxRecipes            = 200       // per project
	MaxRecipeCode         = 64 << 10  // bytes
	MaxRecipeSchema       = 32 << 10  // bytes of an input schema
	MaxHeaders            = 32
	MaxHeaderValue        = 8192                // characters
	MaxPEM                = certificates.MaxPEM // characters
	MaxPersonalHeaders    = 8
	MaxEmail              = 320 // characters
	MaxScopes             = 100
	MaxDisabledTools      = 10_000
	MaxSecretRefs         = 50
	MinTimeoutMS          = 100
	MaxTimeoutMS          = 600_000
	MinTaskTimeoutMS      = 1_000
	MaxTaskTimeoutMS      = 86_400_000 // 24 hours
	MaxResultLimit        = 5 << 20    // bytes of text; larger results can't be stored
	MinConcurrent         = 1          // concurrent calls of one server
	MaxConcurrent         = 4096
	MinRunTimeoutMS       = 1_000 // of Code Mode
	MaxRunTimeoutMS       = 300_000
	MaxRatePerSecond      = 1_000_000
	MaxLimits             = 20 // per project
	MaxPerDay             = 1_000_000_000
	MinToolNameLimit      = 32
	MaxToolNameLimit      = 256
	MaxPersonalDays       = 3650 // lifetime of personal keys
	MaxCallDays           = 365
	MaxPayloadDays        = 30
	MaxRuns               = 1_000 // stored Code Mode runs of a project

	maxDepth = 64 // nesting levels of arrays and objects
)

// The retention of a new project: days of calls and of their arguments and
// results, and the number of Code Mode runs.
const (
	DefaultCallDays    = 7
	DefaultPayloadDays = 3
	DefaultRuns        = 200
)
