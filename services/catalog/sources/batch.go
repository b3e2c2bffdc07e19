// Package sources fetches and parses the sources of the catalog: documents in
// the catalog's own format and official registries. It cleans and validates
// every row and stores nothing.
package sources

import (
	"cmp"
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Batch is the content of a source: rows by name, and names that it withdrew.
type Batch struct {
	Entries   Rows[models.CatalogEntry]
	Templates Rows[models.CatalogTemplate]
	Whole     bool     // the source has no other rows: those that it had before and lacks now are withdrawn
	Fetched   int      // rows of the source
	Skipped   int      // invalid rows
	Warnings  []string // why rows were skipped, and ignored members of rows
}

func (b *Batch) skip(name string, why error) {
	b.Skipped++
	if len(b.Warnings) < maxWarnings {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s was skipped: %v", Clean(cmp.Or(name, "a row without a name"), MaxName), why))
	}
}

// Rows are the rows of one kind in a source.
type Rows[T any] struct {
	Rows  []*T
	Gone  map[string]bool // names that the source withdrew
	names map[string]int  // name to the index of its row
}

// put adds a row, or replaces the row with the same name.
func (s *Rows[T]) put(name string, row *T) {
	if s.names == nil {
		s.names = map[string]int{}
	}
	delete(s.Gone, name)
	if at, known := s.names[name]; known {
		s.Rows[at] = row
		return
	}
	s.names[name] = len(s.Rows)
	s.Rows = append(s.Rows, row)
}

// withdraw records that the source deleted the name.
func (s *Rows[T]) withdraw(name string) {
	if s.Gone == nil {
		s.Gone = map[string]bool{}
	}
	s.Gone[name] = true
}

// Has reports whether the source has or withdrew a row with the name.
func (s *Rows[T]) Has(name string) bool {
	_, found := s.names[name]
	return found || s.Gone[name]
}

// TooMany returns the fault for a catalog that would exceed MaxRows.
func TooMany() error {
	return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The catalog is limited to %d rows of each kind.", MaxRows)
}
