package files

import (
	"slices"
	"strings"
	"sync"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runners/wire"
)

// Active decides which programs run. What may write a file must not thereby run
// programs: a changed file removes programs and changes their settings, and its new
// commands wait for a reload. It is safe for concurrent use.
type Active struct {
	mu       sync.Mutex
	files    []wire.File
	programs map[string]Program
}

// Program is a program and the state of its command.
type Program struct {
	// Entry has the command that runs, and for a new command what a reload runs.
	Entry *entry.Entry
	// New programs have a command that has not run. They wait for a reload.
	New bool
	// Held programs have another command in the file, which waits for a reload.
	// It is also set for new ones.
	Held bool
}

// Change is the effect of a read of the files. The names are sorted.
type Change struct {
	Programs []Program // all, by name

	Added    []string // run from now on
	Replaced []string // with another command
	Settings []string // with other settings and the same command
	Removed  []string
	Held     []string // with a command that waits for a reload; only if that is news
}

// IsEmpty reports whether nothing changed.
func (c *Change) IsEmpty() bool {
	return len(c.Added)+len(c.Replaced)+len(c.Settings)+len(c.Removed)+len(c.Held) == 0
}

// NewActive returns the state without any program. The first Apply must be a
// reload.
func NewActive() *Active { return &Active{programs: map[string]Program{}} }

// Files returns the files as read last.
func (a *Active) Files() []wire.File {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.files)
}

// Apply applies the content of the files. With reload everything applies, and
// otherwise only removals, and settings of programs with the same command.
func (a *Active) Apply(set *Set, reload bool) Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	var c Change
	next := make(map[string]Program, len(set.Programs))
	for _, e := range set.Programs {
		old, known := a.programs[e.Name]
		p := decide(old, known, e, reload)
		c.note(old, known, p)
		next[e.Name] = p
		c.Programs = append(c.Programs, p)
	}
	for name := range a.programs {
		if _, still := next[name]; !still {
			c.Removed = append(c.Removed, name)
		}
	}
	slices.SortFunc(c.Programs, func(a, b Program) int { return strings.Compare(a.Entry.Name, b.Entry.Name) })
	for _, names := range [][]string{c.Added, c.Replaced, c.Settings, c.Removed, c.Held} {
		slices.Sort(names)
	}
	a.files, a.programs = set.Files, next
	return c
}

// decide returns what runs for an entry of the file. An entry with a problem
// waits for a reload like a changed command, so that a mistake ends nothing.
func decide(old Program, known bool, e *entry.Entry, reload bool) Program {
	switch {
	case reload:
		return Program{Entry: e}
	case !known || old.New:
		return Program{Entry: e, New: true, Held: true}
	case old.Entry.Hash() == e.Hash() && (e.Problem == "" || e.Problem == old.Entry.Problem):
		return Program{Entry: e}
	case e.Problem != "":
		return Program{Entry: old.Entry, Held: true}
	}
	return Program{Entry: &entry.Entry{Name: e.Name, Command: old.Entry.Command, Settings: e.Settings, Problem: old.Entry.Problem}, Held: true}
}

// note records how a program changed.
func (c *Change) note(old Program, known bool, p Program) {
	name := p.Entry.Name
	switch {
	case p.Held && !old.Held:
		c.Held = append(c.Held, name)
	case p.New:
	case !known || old.New:
		c.Added = append(c.Added, name)
	case old.Entry.Hash() != p.Entry.Hash() || old.Entry.Problem != p.Entry.Problem:
		c.Replaced = append(c.Replaced, name)
	}
	if known && !p.New && !old.New && old.Entry.Settings != p.Entry.Settings && !slices.Contains(c.Replaced, name) {
		c.Settings = append(c.Settings, name)
	}
}
