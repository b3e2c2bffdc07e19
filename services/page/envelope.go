// Package page cuts what a search finds into pages: the envelope that every
// page comes in, the cursors that lead from one page to the next, and how long
// a page may be.
package page

import "mcpgateway/services/fault"

// Envelope is what every page tells besides its rows (spec, "Page envelope").
// It is made by Enclose, which leaves nothing in it null that must be a list.
type Envelope struct {
	Count      int             `json:"count"`      // rows of this page, not of all
	NextCursor *string         `json:"nextCursor"` // null on the last page
	Warnings   []fault.Warning `json:"warnings"`
	Coverage   Coverage        `json:"coverage"`
}

// Enclose returns the envelope of a page with count rows. An empty nextCursor
// means that no row follows. The coverage is complete unless something was
// unavailable. The slices are kept, not copied.
func Enclose(count int, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Envelope {
	e := Envelope{Count: count, Warnings: warnings, Coverage: Coverage{Kind: Complete}}
	if nextCursor != "" {
		e.NextCursor = &nextCursor
	}
	if e.Warnings == nil {
		e.Warnings = []fault.Warning{}
	}
	if len(unavailable) > 0 {
		e.Coverage = Coverage{Kind: Partial, Unavailable: unavailable}
	}
	return e
}

// Results is a page of tool search, whose rows are called results.
type Results[T any] struct {
	Results []T `json:"results"`
	Envelope
}

// NewResults returns rows in the envelope that Enclose makes.
func NewResults[T any](rows []T, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Results[T] {
	return Results[T]{Results: list(rows), Envelope: Enclose(len(rows), nextCursor, warnings, unavailable)}
}

// Items is a page of the catalog, whose rows are called items.
type Items[T any] struct {
	Items []T `json:"items"`
	Envelope
}

// NewItems returns rows in the envelope that Enclose makes.
func NewItems[T any](rows []T, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Items[T] {
	return Items[T]{Items: list(rows), Envelope: Enclose(len(rows), nextCursor, warnings, unavailable)}
}

func list[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
