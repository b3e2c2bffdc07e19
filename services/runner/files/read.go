package files

import (
	"cmp"
	"fmt"
	"slices"

	"mcpgateway/services/declaration"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/trusted"
	"mcpgateway/services/runners/wire"
)

// Read returns the content of the files: 1 to MaxLocal of the format Local, or one
// of the format Config. A mistake in an entry is a problem of that entry alone. The
// error is a *trusted.Refusal for a file that others can write, and otherwise names
// a file and its mistake.
func Read(paths []string, format Format) (*Set, error) {
	most := 1
	if format == Local {
		most = MaxLocal
	}
	if len(paths) == 0 || len(paths) > most {
		return nil, fmt.Errorf("name 1 to %d files", most)
	}
	r := &reading{set: &Set{Format: format}, aliases: map[string]place{}}
	for _, path := range paths {
		file, err := trusted.Read(path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.set.Files, func(f wire.File) bool { return f.Path == file.Path }) {
			return nil, fmt.Errorf("%s is named twice", file.Path)
		}
		r.set.Files = append(r.set.Files, wire.File{Path: file.Path, SHA256: file.Hash})
		read := r.local
		if format == Config {
			read = r.config
		}
		if err := read(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
	}
	return r.finish()
}

// reading collects the content of the files.
type reading struct {
	set     *Set
	servers map[string]*declaration.Server // of the format Local, by alias
	aliases map[string]place               // of the format Local, folded
}

// place is the file of a name.
type place struct{ file, name string }

func (r *reading) finish() (*Set, error) {
	if len(r.set.Programs) > wire.MaxServers {
		return nil, fmt.Errorf("the files have %d programs: a runner can have at most %d", len(r.set.Programs), wire.MaxServers)
	}
	slices.SortFunc(r.set.Programs, func(a, b *entry.Entry) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.set.Remote, func(a, b Remote) int { return cmp.Compare(a.Name, b.Name) })
	if r.set.Format == Local {
		r.set.Declaration = &declaration.File{Projects: map[string]*declaration.Project{LocalProject: {Servers: r.servers}}}
	}
	return r.set, nil
}
