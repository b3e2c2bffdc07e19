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

// MaxIndexedTools is the maximum number of tools in all cached indexes. Beyond
// it, the least recently used indexes are evicted and built again on demand.
const MaxIndexedTools = 250_000

// maxBuilds is the maximum number of concurrent builds.
const maxBuilds = 2
