//go:build race

package mcp_test

// raceAllocations is what the race detector adds to a call's allocations.
const raceAllocations = 30
