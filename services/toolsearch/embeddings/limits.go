package embeddings

import "time"

// Limits of requests to the endpoint.
const (
	deadline        = 150 * time.Millisecond // after which a search uses its lexical order
	queryTimeout    = 2 * time.Second        // of a task; a vector after the deadline serves the next search
	batchTimeout    = time.Minute
	maxQueries      = 16  // concurrent; further tasks are ranked by words
	maxQueryVectors = 512 // cached, of the last tasks
	batchSize       = 64  // texts per request
	maxTextBytes    = 2000
	maxDimensions   = 4096
	maxNumberBytes  = 32      // of a number in a response
	responseExtra   = 1 << 16 // bytes besides numbers
)

// MaxMemory is the maximum size of the vectors in memory, in bytes: those of
// 83,000 tools with 1,536 dimensions. Further tools are ranked by words.
const MaxMemory = 128 << 20

// vectorOverhead is the memory of a vector besides its dimensions, in bytes.
const vectorOverhead = 80

// Limits of failures.
const (
	maxFailures = 5                // consecutive, before tasks are no longer sent
	pause       = 30 * time.Second // until a task is sent again
	minRetry    = 10 * time.Second // before a batch is sent again; doubles
	maxRetry    = 10 * time.Minute // and up to
	refusedFor  = time.Hour        // until a refused text is sent again
	logInterval = 5 * time.Minute  // between two lines of the log
)

// Intervals of the loops.
const (
	loadInterval    = time.Minute      // reads vectors that were not announced
	publishInterval = 10 * time.Second // between announcements of stored vectors
	unusedFor       = 24 * time.Hour   // before the vector of a text that no tool has is deleted
	rowsPerQuery    = 500
)
