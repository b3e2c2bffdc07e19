package secrets

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcpgateway/services/fault"
)

// filePrefix precedes the path in a reference to a file: ${file:/path}.
const filePrefix = "file:"

const (
	maxFileSize = 64 << 10               // bytes of a secret in a file
	maxPath     = 4096                   // bytes
	fileTTL     = 500 * time.Millisecond // a change of a file is used after this time
	maxFiles    = 1024                   // cached files
)

// Files returns the secrets in files below a list of directories. It is safe for
// concurrent use.
type Files struct {
	dirs []string // clean and absolute

	mu     sync.Mutex
	cached map[string]cachedFile
}

// cachedFile is the result of reading a file.
type cachedFile struct {
	value Value
	err   error
	until time.Time
}

// NewFiles returns the Files of the directories, which must be clean absolute
// paths.
func NewFiles(dirs []string) *Files { return &Files{dirs: dirs, cached: map[string]cachedFile{}} }

// isPath reports whether the rest of a reference to a file is an acceptable path:
// absolute, without . and .. elements, and without characters that are special in
// references and in the query of a URL.
func isPath(path string) bool {
	return len(path) <= maxPath && filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsAny(path, "${}&#%+\x00\n\r")
}

// check returns nil if the text of a path is below one of the directories,
// otherwise VALIDATION_FAILED.
func (f *Files) check(path string) error {
	invalid := func(why string) error {
		return fault.New(fault.KindValidation, fault.CodeValidationFailed, "%s", why)
	}
	if f == nil || len(f.dirs) == 0 {
		return invalid("References to files are not allowed. An operator can allow directories in GATEWAY_SECRET_DIRS.")
	}
	for _, dir := range f.dirs {
		if isBelow(path, dir) {
			return nil
		}
	}
	return invalid("The file " + path + " is not in an allowed directory. An operator can allow it in GATEWAY_SECRET_DIRS.")
}

// isBelow reports whether a clean path is below a directory.
func isBelow(path, dir string) bool {
	return dir == "/" || strings.HasPrefix(path, dir+"/")
}

// read returns the content of a file without one newline at its end. It returns
// UPSTREAM_UNAUTHORIZED if the file is missing, empty, not regular, too large, or
// outside the directories after symbolic links are followed.
func (f *Files) read(path string) (Value, error) {
	if err := f.check(path); err != nil {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "%s", fault.From(err).Message)
	}
	now := time.Now()
	f.mu.Lock()
	c, found := f.cached[path]
	f.mu.Unlock()
	if found && now.Before(c.until) {
		return c.value, c.err
	}
	c.value, c.err = f.load(path)
	c.until = now.Add(fileTTL)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.cached) >= maxFiles {
		clear(f.cached)
	}
	f.cached[path] = c
	return c.value, c.err
}

func (f *Files) load(path string) (Value, error) {
	refuse := func(why string) (Value, error) {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "The file %s with the upstream's credential %s.", path, why)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse("is missing or can't be read")
	}
	for _, dir := range f.dirs {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil || !isBelow(real, dir) {
			continue
		}
		text, why := readBelow(dir, strings.TrimPrefix(strings.TrimPrefix(real, dir), "/"))
		switch {
		case why != "":
			return refuse(why)
		case text == "":
			return refuse("is empty")
		}
		return NewValue(text), nil
	}
	return refuse("is a link out of the allowed directories")
}

// readBelow reads a file in a directory. Links that appeared since the path was
// resolved can't lead out of the directory.
func readBelow(dir, name string) (text, why string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "is missing or can't be read"
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would block
	if err != nil {
		return "", "is missing or can't be read"
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", "can't be read"
	case !info.Mode().IsRegular():
		return "", "is not a regular file"
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	switch {
	case err != nil:
		return "", "can't be read"
	case len(content) > maxFileSize:
		return "", "is larger than 64 KiB"
	}
	text, cut := strings.CutSuffix(string(content), "\n")
	if cut {
		text = strings.TrimSuffix(text, "\r")
	}
	return text, ""
}
