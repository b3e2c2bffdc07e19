package typescript

// Bounds of what is written for one tool. Beyond them a declaration gets
// wider, never wrong.
const (
	MaxSchemaDepth      = 14       // levels of nested types that are declared
	MaxToolDeclaration  = 32 << 10 // bytes of one tool's declaration with its types
	MaxFullDeclarations = 8 << 20  // bytes of the declarations of a whole project

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
)
