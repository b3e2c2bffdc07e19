// Package sources reads what the sources of the catalog hold: documents in the
// catalog's own format and registries in the official one. It cleans and checks
// every row, and stores nothing.
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
	Fetched   int      // rows of the source
	Skipped   int      // unusable ones
	Warnings  []string // reasons why rows were skipped, and ignored members of rows
}

func (b *Batch) skip(name string, why error) {
	b.Skipped++
	if len(b.Warnings) < maxWarnings {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s is left out: %v", Clean(cmp.Or(name, "a row without a name"), MaxName), why))
	}
}

// Rows is the content of a source of one kind of rows.
type Rows[T any] struct {
	Rows  []*T
	Gone  map[string]bool // names that the source withdrew
	names map[string]int  // name to the index of its row
}

// put adds a row or, when the name is known, replaces its row.
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

// Has reports whether the source has a row of the name or withdrew it.
func (s *Rows[T]) Has(name string) bool {
	_, found := s.names[name]
	return found || s.Gone[name]
}

// TooMany returns the fault for a catalog that would grow beyond MaxRows.
func TooMany() error {
	return fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "the catalog holds at most %d rows of a kind", MaxRows)
}
