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
	// driverCommand is what the suite splits at spaces and starts in the
	// run's folder, so no path with a space can be in it.
	driverCommand = "./" + driverName + " client"
	driverName    = "driver"
)

// prepareClient puts into the run's folder what the suites need there: the
// client under test is the program driver.
func (r *runner) prepareClient(driver string) error {
	if _, err := os.Stat(filepath.Join(r.modules, string(Release02))); err != nil {
		return fmt.Errorf("the suites are not installed, run make deps: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.folder, loopbackFile), loopback, 0o600); err != nil {
		return err
	}
	return os.Symlink(driver, filepath.Join(r.folder, driverName))
}

// lastLine returns the last line with text in it.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
