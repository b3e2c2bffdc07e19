package codemode

// Bounds of what is read from one schema and written for one tool. Beyond
// them a declaration gets wider, never wrong.
const (
	MaxSchemaBytes      = 256 << 10 // of a definition that is read at all
	MaxSchemaDepth      = 14        // levels of nested types that are declared
	MaxToolDeclaration  = 32 << 10  // bytes of one tool's declaration with its types
	MaxFullDeclarations = 8 << 20   // bytes of the declarations of a whole project

	// maxKeptDeclarations bounds the declarations of whole projects that are
	// kept for the next call, in bytes.
	maxKeptDeclarations = 64 << 20

	maxNesting      = 128   // levels of JSON in a schema that is read at all
	maxSchemaNodes  = 5_000 // subschemas that are visited for one tool
	maxNamedTypes   = 256   // types that one tool refers to by name
	maxTypeName     = 80    // bytes of each part of a type's name
	maxUnionWidth   = 1_000 // variants that an intersection may multiply to
	maxVariants     = 64    // properties that are repeated for variants of an object
	maxListedNames  = 100   // property names that are written out for propertyNames
	maxInlineObject = 72    // bytes of an object that is written on one line
)

// Bounds of texts in comments, in bytes.
const (
	maxToolText     = 4_000
	maxPropertyText = 2_000
	maxTagText      = 200
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
