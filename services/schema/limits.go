package schema

// Bounds of a JSON value that is read.
const (
	MaxBytes   = 256 << 10 // of a definition that is read at all
	MaxNesting = 128       // levels of JSON
	MaxNodes   = 5_000     // subschemas that are visited for one tool
	MaxTagText = 200       // bytes of a value or pattern in a message or comment
)

// Bounds of checking arguments against a schema.
const (
	// MaxValidationCost bounds branches × depth of a schema that arguments are
	// checked against.
	MaxValidationCost = 10_000

	maxCheckSteps   = 50_000   // visits of a schema in one check, weighted by size
	stepBytes       = 1_024    // bytes of a value or list that cost one more step
	maxPathBytes    = 1 << 20  // bytes of the paths to all parts of a schema
	maxCompiledSize = 64 << 20 // bytes of all compiled schemas that are kept, estimated
	compiledFactor  = 16       // bytes of a compiled schema for each one of its definition
	maxPatternSteps = 10_000   // instructions of all compiled patterns of one definition
	patternStepSize = 64       // bytes of one of them
	maxShownValue   = 80       // bytes of a name or value in a message
	maxShownNames   = 8        // names and values that a message lists
	maxArguments    = 1 << 20  // bytes of arguments that are checked
)
