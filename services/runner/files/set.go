// Package files reads the files that declare servers, and decides which of
// their commands run.
package files

import (
	"maps"

	"mcpgateway/services/declaration"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runners/wire"
)

// Format is the form of a file.
type Format string

// The formats of files.
const (
	Local  Format = "local"  // the configuration of any client
	Config Format = "config" // the gateway's declarative file, or a client's with the project "default"
)

// MaxLocal is the maximum number of files of the format Local. There is one of
// the format Config.
const MaxLocal = 8

// Set is the content of the files.
type Set struct {
	Format   Format
	Files    []wire.File    // in the order of the paths
	Programs []*entry.Entry // by name
	Remote   []Remote       // servers with a URL, by name
	// Problems are the entries that are left out.
	Problems []Problem
	Notes    []string // keys that have no effect here

	// Declaration has the projects and servers of the files without commands. A
	// file of the format Local has the project LocalProject.
	Declaration *declaration.File
}

// LocalProject is the slug of the project with the servers of local files.
const LocalProject = "local"

// Remote is a server with a URL. Name is the alias, or PROJECT/ALIAS in a file of
// the format Config.
type Remote struct{ Name, File string }

// Problem is the reason for which an entry of a file is left out.
type Problem struct{ File, Name, Reason string }

func (p Problem) String() string { return p.File + ": " + p.Name + ": " + p.Reason }

// DropPrograms removes the programs, also from the declaration, and returns their
// names.
func (s *Set) DropPrograms() (names []string) {
	for _, program := range s.Programs {
		names = append(names, program.Name)
	}
	s.Programs = nil
	for _, project := range s.Declaration.Projects {
		maps.DeleteFunc(project.Servers, func(_ string, server *declaration.Server) bool { return server.Program })
	}
	return names
}

// HasPrograms reports whether there is something to run.
func (s *Set) HasPrograms() bool { return len(s.Programs) > 0 }
