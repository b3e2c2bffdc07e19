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

// prepareClient puts into the run's folder what the suites need there.
func (r *runner) prepareClient() error {
	if _, err := os.Stat(filepath.Join(r.options.Root, "node_modules", string(Release02))); err != nil {
		return fmt.Errorf("the suites are not installed, run make deps: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.options.Folder, loopbackFile), loopback, 0o600); err != nil {
		return err
	}
	return os.Symlink(r.options.Driver, filepath.Join(r.options.Folder, driverName))
}

// lastLine returns the last line with text in it.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
