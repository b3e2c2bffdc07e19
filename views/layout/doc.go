// Package layout is the frame of every page: the side bar of the
// administration, the top bar of the pages for visitors, and the bar of tabs
// of a project.
package layout
