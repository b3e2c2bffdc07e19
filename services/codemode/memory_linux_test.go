package codemode_test

import (
	"runtime"
	"testing"

	"mcpgateway/services/codemode"
)

// Only the memory of the run is measured. It excludes the much larger memory of
// the process that started the child and the child's own baseline.
func TestRunMemoryUsage(t *testing.T) {
	ballast := make([]byte, 256<<20)
	for i := 0; i < len(ballast); i += 4 << 10 {
		ballast[i] = 1
	}
	r := runner(t, codemode.Options{})
	small := run(t, r, request("return 1"), newTools()).Usage.MemoryBytes
	large := run(t, r, request(`const all = []; for (let i = 0; i < 40; i++) all.push("x".repeat(1 << 20) + i); return all.length`), newTools()).Usage.MemoryBytes
	runtime.KeepAlive(ballast)
	if small > 40<<20 || large < 30<<20 || large > 150<<20 {
		t.Errorf("memory usage: %d bytes for a small run, %d for a large one", small, large)
	}
}
