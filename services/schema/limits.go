package schema

// Limits of parsed JSON values.
const (
	MaxBytes   = 256 << 10 // bytes of a definition; longer ones are rejected
	MaxNesting = 128       // levels of nested JSON
	MaxNodes   = 5_000     // subschemas visited for one tool
	MaxTagText = 200       // bytes of a value or pattern in a message or comment
)

// Limits of validating arguments against a schema.
const (
	// MaxValidationCost limits branches × depth of a schema used for
	// validation.
	MaxValidationCost = 10_000

	maxCheckSteps   = 50_000   // visits of a schema in one validation, weighted by size
	stepBytes       = 1_024    // bytes of a value or list that count as one more step
	maxPathBytes    = 1 << 20  // total bytes of the paths to all parts of a schema
	maxCompiledSize = 64 << 20 // estimated bytes of the cached compiled schemas
	compiledFactor  = 16       // bytes of a compiled schema per byte of its definition
	maxPatternSteps = 10_000   // instructions of all compiled patterns of one definition
	patternStepSize = 64       // bytes of one instruction
	maxShownValue   = 80       // bytes of a name or value in a message
	maxShownNames   = 8        // names and values listed in a message
	maxArguments    = 1 << 20  // bytes of validated arguments
)
