//go:build !race

package mcp_test

const raceAllocations = 0
