package config

import (
	"os"
	"path/filepath"
)

// outboxFile returns the path of the file for events. Its folder must exist.
func (r *loader) outboxFile(path string) string {
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		r.addProblem("GATEWAY_OUTBOX_FILE: use an absolute path, not %q", path)
		return ""
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		r.addProblem("GATEWAY_OUTBOX_FILE: the folder of %q doesn't exist", path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		r.addProblem("GATEWAY_OUTBOX_FILE: %q is a folder", path)
	}
	return path
}
