package admin

import (
	"strconv"

	"mcpgateway/views/ui"
)

// OnOff names the states of a switch.
func OnOff(on bool) string {
	if on {
		return "On"
	}
	return "Off"
}

// duration returns milliseconds with their unit.
func duration(ms int64) string {
	if ms < 10_000 {
		return ui.Count(int(ms)) + " ms"
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
}
