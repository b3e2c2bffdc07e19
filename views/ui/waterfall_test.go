package ui_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"mcpgateway/views/ui"
)

func TestWaterfallBars(t *testing.T) {
	page := markup(t, ui.Waterfall(ui.WaterfallProps{Label: "3 calls", TotalMS: 1100, Rows: []ui.WaterfallRow{
		{Name: "a.b", StartMS: 0, MS: 300, Tone: ui.OK, Text: "300 ms"},
		{Name: "c.<d>", URL: "/x", StartMS: 600, MS: 9000, Tone: ui.Bad, Text: "Timed out"},
		{Name: "e", StartMS: 1200, MS: 0, Tone: ui.Neutral, Text: "0 ms"},
	}}))
	for _, want := range []string{
		`aria-label="3 calls"`, ">0 ms<", ">500 ms<", ">1 s<", ">1.5 s<", "c.&lt;d&gt;", `href="/x"`, "Timed out",
		`class="b-ok" x="0.00%" y="4" width="20.00%"`, `class="b-bad" x="40.00%" y="4" width="60.00%"`, `class="b-idle" x="80.00%" y="4" width="0.50%"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("Waterfall lacks %s:\n%s", want, page)
		}
	}
}

func TestWaterfallTicks(t *testing.T) {
	for ms, last := range map[int64]string{0: "1 ms", 1: "1 ms", 4: "4 ms", 5: "5 ms", 6: "6 ms", 999: "1 s", 1000: "1 s", 1001: "1.5 s", 300_000: "5 min"} {
		page := markup(t, ui.Waterfall(ui.WaterfallProps{Label: "x", TotalMS: ms}))
		ticks := strings.Count(page, "<text")
		if !strings.Contains(page, `text-anchor="end">`+last+"<") || ticks < 2 || ticks > 6 {
			t.Errorf("axis of %d ms: %d ticks, want the last one %s:\n%s", ms, ticks, last, page)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for ms, want := range map[int64]string{0: "0 ms", 999: "999 ms", 1000: "1 s", 1240: "1.2 s", 9999: "10 s", 10_000: "10 s", 119_499: "119 s", 120_000: "2 min", 125_000: "2 min 5 s"} {
		if got := ui.Milliseconds(ms); got != want {
			t.Errorf("Milliseconds(%s) = %q, want %q", strconv.FormatInt(ms, 10), got, want)
		}
	}
}

// markup renders a component.
func markup(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
