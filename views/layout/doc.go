// Package layout is the frame of every page.
package layout
