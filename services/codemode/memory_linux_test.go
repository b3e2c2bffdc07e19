package codemode_test

import (
	"runtime"
	"testing"

	"mcpgateway/services/codemode"
)

// The memory is that of the run: neither that of the process that started the
// child, which is larger by far here, nor what the child needs to stand by.
func TestTheMemoryOfARunIsItsOwn(t *testing.T) {
	ballast := make([]byte, 256<<20)
	for i := 0; i < len(ballast); i += 4 << 10 {
		ballast[i] = 1
	}
	r := runner(t, codemode.Options{})
	small := run(t, r, request("return 1"), newTools()).Usage.MemoryBytes
	large := run(t, r, request(`const all = []; for (let i = 0; i < 40; i++) all.push("x".repeat(1 << 20) + i); return all.length`), newTools()).Usage.MemoryBytes
	runtime.KeepAlive(ballast)
	if small > 40<<20 || large < 30<<20 || large > 150<<20 {
		t.Errorf("a small run took %d bytes, a large one %d", small, large)
	}
}
