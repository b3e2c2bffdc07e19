package typescript

// Limits of the declaration of one tool. Beyond them a declaration gets wider
// but stays valid.
const (
	MaxSchemaDepth      = 14       // declared levels of nested types
	MaxToolDeclaration  = 32 << 10 // bytes of one tool's declaration with its types
	MaxFullDeclarations = 8 << 20  // bytes of the declarations of a whole project

	maxNamedTypes   = 256   // named types of one tool
	maxTypeName     = 80    // bytes of each part of a type's name
	maxUnionWidth   = 1_000 // variants that an intersection may expand to
	maxVariants     = 64    // properties repeated for variants of an object
	maxListedNames  = 100   // property names listed for propertyNames
	maxInlineObject = 72    // bytes of an object written on one line
)

// Limits of texts in comments, in bytes.
const (
	maxToolText     = 4_000
	maxPropertyText = 2_000
)
