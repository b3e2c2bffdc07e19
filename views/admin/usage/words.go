// Package usage renders the usage of projects.
package usage

import (
	"strconv"

	"mcpgateway/views/ui"
)

// Bytes returns a size, such as "1.2 MB".
func Bytes(n int64) string {
	const step = 1000
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for size >= step && unit < len(units)-1 {
		size, unit = size/step, unit+1
	}
	if unit == 0 || size >= 100 {
		return strconv.FormatFloat(size, 'f', 0, 64) + " " + units[unit]
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + units[unit]
}

// saves returns how many tokens a list saves, or how many more it costs.
func (l List) saves() string {
	switch {
	case l.Base:
		return "–"
	case l.Saves < 0:
		return "costs " + ui.Count(-l.Saves) + " more"
	default:
		return ui.Count(l.Saves)
	}
}

// width returns the width of a bar of up to 36 pixels.
func width(n, most int) string {
	if most == 0 {
		return "0"
	}
	return strconv.FormatFloat(36*float64(n)/float64(most), 'f', 1, 64)
}
