// Package page divides search results into pages. It defines the envelope of a
// page, the cursors that link pages and the limits of page sizes.
package page

import "mcpgateway/services/fault"

// Envelope is the metadata of a page (spec, "Page envelope"). Enclose creates
// it without null lists.
type Envelope struct {
	Count      int             `json:"count"`      // rows of this page, not of all
	NextCursor *string         `json:"nextCursor"` // null on the last page
	Warnings   []fault.Warning `json:"warnings"`
	Coverage   Coverage        `json:"coverage"`
}

// NewEnvelope returns the envelope of a page with count rows. An empty nextCursor
// means the last page. Coverage is complete if nothing was unavailable. The
// slices are retained, not copied.
func NewEnvelope(count int, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Envelope {
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

// Results is a page of tool search.
type Results[T any] struct {
	Results []T `json:"results"`
	Envelope
}

// NewResults returns rows in an envelope created by Enclose.
func NewResults[T any](rows []T, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Results[T] {
	return Results[T]{Results: list(rows), Envelope: NewEnvelope(len(rows), nextCursor, warnings, unavailable)}
}

// Items is a page of the catalog.
type Items[T any] struct {
	Items []T `json:"items"`
	Envelope
}

// NewItems returns rows in an envelope created by Enclose.
func NewItems[T any](rows []T, nextCursor string, warnings []fault.Warning, unavailable []Unavailable) Items[T] {
	return Items[T]{Items: list(rows), Envelope: NewEnvelope(len(rows), nextCursor, warnings, unavailable)}
}

func list[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
