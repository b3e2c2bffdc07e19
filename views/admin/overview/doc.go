// Package overview draws the first page of a project: its servers, the open steps
// of its setup, numbers, traffic, and what needs a user.
package overview

import "strconv"

// length returns a length of a drawing in pixels.
func length(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
