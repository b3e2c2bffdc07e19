package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// secretDirs returns the directories whose files `${file:/path}` may name. A
// directory with the database, its keys or a file with one of the gateway's own
// settings is a problem: a maintainer could send it to a server.
func (r *loader) secretDirs(vars variables, environ []string) []string {
	dirs := split(vars.SecretDirs)
	for _, dir := range dirs {
		if why := secretDirProblem(dir, ownFiles(vars, environ)); why != "" {
			r.addProblem("GATEWAY_SECRET_DIRS: %q %s", dir, why)
		}
	}
	return dirs
}

// secretDirProblem returns the problem of a directory, or "".
func secretDirProblem(dir string, own map[string]string) string {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return "is not an absolute path without . and .. and a slash at its end"
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "doesn't exist or can't be read"
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "is not a directory"
	}
	if real == "/" {
		return "is the root directory; use a directory that has only secrets for servers"
	}
	for _, path := range slices.Sorted(maps.Keys(own)) {
		if strings.HasPrefix(realPath(path)+"/", real+"/") || strings.HasPrefix(path+"/", dir+"/") {
			return "contains " + own[path] + "; use a directory that has only secrets for servers"
		}
	}
	return ""
}

// ownFiles returns what the gateway's own files contain, by absolute path.
func ownFiles(vars variables, environ []string) map[string]string {
	files := map[string]string{}
	add := func(path, what string) {
		if abs, err := filepath.Abs(path); err == nil {
			files[abs] = what
		}
	}
	for name, value := range env.ToMap(environ) {
		if strings.HasPrefix(name, "GATEWAY_") && strings.HasSuffix(name, "_FILE") && value != "" {
			add(value, "the file of "+name)
		}
	}
	if path, isFile := strings.CutPrefix(vars.DatabaseURL, "sqlite:"); isFile {
		path, _, _ = strings.Cut(path, "?")
		add(filepath.Join(filepath.Dir(path), "secrets.key"), "secrets.key")
		add(path, "the database")
	}
	return files
}

// realPath returns a path without symbolic links, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}
