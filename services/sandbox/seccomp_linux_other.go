//go:build linux && !amd64 && !arm64

package sandbox

import "errors"

// seccomp is not implemented for this architecture. The other measures still
// apply.
func seccomp() error { return errors.ErrUnsupported }
