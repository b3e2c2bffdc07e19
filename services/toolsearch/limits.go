package toolsearch

import "mcpgateway/services/page"

// Bounds of the arguments of a search for a task (spec, "Limits").
const (
	MaxTaskRunes = 2_048
	MaxTaskBytes = 8_192
	MaxTaskLimit = 20
	MaxOffset    = 10_000

	defaultTaskLimit = 5
)

func taskLimit() page.Range {
	return page.Range{Name: "limit", Min: 1, Max: MaxTaskLimit, Default: defaultTaskLimit}
}

func taskOffset() page.Range {
	return page.Range{Name: "offset", Min: 0, Max: MaxOffset, Default: 0}
}

// Bounds of what one tool adds to an index. Text beyond them is not searched.
const (
	maxFieldWords  = 2_000    // words of one field of one tool
	maxSchemaDepth = 8        // levels of nested parameters
	maxProperties  = 256      // parameters and schema branches of one tool
	maxEnumValues  = 256      // enumerated values of one tool
	maxWordBytes   = 64       // longer words are cut identifiers, hashes or noise
	maxLiteralText = 16 << 10 // bytes of a name or description
)

// Bounds of guessing what the unknown words of a task mean.
const (
	minFuzzyWord  = 4  // bytes; shorter words are never corrected
	minFuzzyFar   = 8  // bytes from which on two edits are corrected
	maxCompletion = 6  // letters that may be missing at a word's end
	maxGuesses    = 3  // terms that one word may stand for
	maxUnknown    = 24 // words of a task that are guessed at
)

// maxClauses bounds the clauses of a task that are ranked on their own.
const maxClauses = 12

// MaxIndexedTools bounds the tools in the indexes that are kept in memory, of
// all projects together. Beyond it the indexes that were not used for longest
// are dropped and built again when they are asked for.
const MaxIndexedTools = 250_000

// maxBuilds is how many indexes are built at once.
const maxBuilds = 2
