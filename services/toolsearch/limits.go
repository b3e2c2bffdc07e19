package toolsearch

import "mcpgateway/services/page"

// Limits of the arguments of a task search (spec, "Limits").
const (
	MaxTaskRunes = 2_048
	MaxTaskBytes = 8_192
	MaxTaskLimit = 20
	MaxOffset    = 10_000

	DefaultTaskLimit = 5
)

func taskLimit() page.Range {
	return page.Range{Name: "limit", Min: 1, Max: MaxTaskLimit, Default: DefaultTaskLimit}
}

func taskOffset() page.Range {
	return page.Range{Name: "offset", Min: 0, Max: MaxOffset, Default: 0}
}

// Limits of a tool's text in an index. Text beyond them is not searched.
const (
	maxFieldWords  = 2_000    // words of one field of one tool
	maxSchemaDepth = 8        // levels of nested parameters
	maxProperties  = 256      // parameters and schema branches of one tool
	maxEnumValues  = 256      // enumerated values of one tool
	maxWordBytes   = 64       // longer words are hashes or noise and are truncated
	maxLiteralText = 16 << 10 // bytes of a name or description

	maxTranslatedText = 8 << 10 // bytes of a text in another language
)

// Limits of corrections of unknown words in a task.
const (
	minFuzzyWord   = 4  // bytes; shorter words are never corrected
	minFuzzyFar    = 8  // bytes; minimum for corrections of two edits
	maxCompletion  = 6  // missing letters at the end of a word
	maxCorrections = 3  // terms per corrected word
	maxUnknown     = 24 // corrected words per task
)

// maxClauses is the maximum number of a task's clauses ranked separately.
const maxClauses = 12

// MaxIndexedTools is the maximum number of tools in all cached indexes. Beyond
// it, the least recently used indexes are evicted and built again on demand.
const MaxIndexedTools = 250_000

// maxBuilds is the maximum number of concurrent builds.
const maxBuilds = 2
