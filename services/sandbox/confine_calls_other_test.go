//go:build !linux || (!amd64 && !arm64)

package sandbox_test

const callsCommand = "confined-calls"

func probeCalls() int { return 0 }
