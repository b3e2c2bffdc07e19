//go:build conformance

package suite

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed loopback.mjs
var loopback []byte

const (
	loopbackFile = "loopback.mjs"
	// driverCommand is relative to the run's folder, because the suite splits it at
	// spaces.
	driverCommand = "./" + driverName + " client"
	driverName    = "driver"
)

// prepareClient writes the preload script and a link to driver, the client under
// test, into the run's folder.
func (r *runner) prepareClient(driver string) error {
	if _, err := os.Stat(filepath.Join(r.modules, string(Release02))); err != nil {
		return fmt.Errorf("suites not installed, run make deps: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, loopbackFile), loopback, 0o600); err != nil {
		return err
	}
	return os.Symlink(driver, filepath.Join(r.folder, driverName))
}

// lastLine returns the last non-blank line.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
