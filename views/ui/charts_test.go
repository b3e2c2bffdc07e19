package ui_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/views/ui"
)

var chartStart = time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC)

// words returns the texts that a pattern with one group finds.
func words(html, pattern string) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(html, -1) {
		found = append(found, match[1])
	}
	return found
}

func between(html, from, to string) string {
	html = html[strings.Index(html, from):]
	return html[:strings.Index(html, to)]
}

func TestVerticalAxis(t *testing.T) {
	for _, tt := range []struct {
		largest float64
		labels  string
	}{
		{0, "4 3 2 1 0"}, {1, "1.5 1 0.5 0"}, {1.01, "1.5 1 0.5 0"}, {2300, "3k 2k 1k 0"}, {5, "6 4 2 0"}, {7, "8 6 4 2 0"}, {8, "8 6 4 2 0"}, {8.1, "15 10 5 0"},
		{433, "600 400 200 0"}, {999_900, "1.5M 1M 500k 0"}, {math.Inf(1), "4 3 2 1 0"}, {0.004, "0.004 0.003 0.002 0.001 0"},
	} {
		html := draw(t, ui.Chart(ui.ChartProps{ID: "x", Label: "x", Axis: ui.Axis{From: chartStart, Step: time.Hour, Count: 2}, Lines: []ui.Line{{Name: "l", Values: []float64{ui.Gap(), tt.largest}}}}))
		got := strings.Join(words(between(html, `class="y"`, "<svg"), `<span>([^<]*)</span>`), " ")
		if got != tt.labels {
			t.Errorf("axis up to %v: %q, want %q", tt.largest, got, tt.labels)
		}
	}
	html := draw(t, ui.Bars(ui.BarsProps{ID: "x", Label: "x", Axis: ui.Axis{From: chartStart, Step: time.Hour, Count: 1}, Bars: []ui.Bar{{OK: 1}}}))
	if got := strings.Join(words(between(html, `class="y"`, "<svg"), `<span>([^<]*)</span>`), " "); got != "3 2 1 0" {
		t.Errorf("axis of one call: %q", got)
	}
}

func TestTimeAxis(t *testing.T) {
	for _, tt := range []struct {
		step   time.Duration
		count  int
		labels string
	}{
		{time.Second, 60, "13:00:00 13:00:10 13:00:20 13:00:30 13:00:40 13:00:50"},
		{time.Minute, 60, "13:00 13:10 13:20 13:30 13:40 13:50"},
		{5 * time.Minute, 72, "13:00 14:00 15:00 16:00 17:00 18:00"},
		{30 * time.Minute, 48, "15:00 18:00 21:00 00:00 03:00 06:00 09:00 12:00"},
		{3 * time.Hour, 56, "3 Jan 4 Jan 5 Jan 6 Jan 7 Jan 8 Jan 9 Jan"},
		{12 * time.Hour, 60, "5 Jan 10 Jan 15 Jan 20 Jan 25 Jan 30 Jan"},
		{0, 0, ""},
	} {
		html := draw(t, ui.Heat(ui.HeatProps{ID: "x", Label: "x", Axis: ui.Axis{From: chartStart, Step: tt.step, Count: tt.count}}))
		got := strings.Join(words(between(html, `class="x"`, "</svg>"), `<time[^>]*>([^<]*)</time>`), " ")
		if got != tt.labels {
			t.Errorf("%d × %v: %q, want %q", tt.count, tt.step, got, tt.labels)
		}
	}
}

func TestBarsPicture(t *testing.T) {
	html := draw(t, ui.Bars(ui.BarsProps{
		ID: "b", Label: "Calls", Axis: ui.Axis{From: chartStart, Step: time.Hour, Count: 4}, PreviousLabel: "Day before",
		Bars:   []ui.Bar{{Missing: true, Previous: -1}, {OK: 300, Failed: 100, Previous: 200}, {Previous: 100}, {OK: 50, Partial: true, Previous: 400}},
		Select: &ui.Selection{From: chartStart.Add(time.Hour), To: chartStart.Add(2 * time.Hour), URL: "/a?range=24h", BackURL: "/a"},
	}))
	for _, want := range []string{
		`<path class="b-okl" d="M1.07 75.0h0.86V0.0h-0.86z">`, `<path class="b-bad" d="M1.07 100.0h0.86V75.0h-0.86z">`, // failed at the base
		`fill="url(#b-hatch)"`, `x="76.8%"`, // unfinished
		`<path class="l-was" d="M1.5 50L2.5 75L3.5 0">`, // the period before, from its first data
		`<rect class="sel" x="25%" width="25%"`, `data-url="/a?range=24h"`, `data-back="/a"`,
		`<td class="num">–</td><td class="num">–</td><td class="num">–</td>`, `<td class="num">300</td><td class="num">100 · 25%</td><td class="num">200</td>`,
		`datetime="2026-01-02T14:00:00Z" data-as="at">2 Jan 14:00</time>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("want %s in\n%s", want, html)
		}
	}
	if strings.Contains(html, "style=") {
		t.Error("inline style")
	}
}

func TestLinesHaveGaps(t *testing.T) {
	gap := ui.Gap()
	html := draw(t, ui.Chart(ui.ChartProps{
		ID: "c", Label: "Latency", Axis: ui.Axis{From: chartStart, Step: time.Hour, Count: 5}, Text: ui.Millis,
		Lines: []ui.Line{{Name: "p50", Kind: ui.MainLine, Values: []float64{300, gap, 600, 1200, gap}}, {Name: "p95", Kind: ui.InfoLine, Values: []float64{gap, gap, gap, gap, gap}}},
	}))
	for _, want := range []string{
		`<path class="l-main" d="M0.2 80h.6M2.5 60L3.5 20">`, `<path class="a-main" d="M0.5 100L0.5 80V100ZM2.5 100L2.5 60L3.5 20V100Z">`, `<path class="l-info" d="">`,
		"<span>1.5 s</span>", "<span>500 ms</span>", `<td class="num">600 ms</td><td class="num">–</td>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("want %s in\n%s", want, html)
		}
	}
}

func TestHeatShades(t *testing.T) {
	html := draw(t, ui.Heat(ui.HeatProps{ID: "h", Label: "Calls", Axis: ui.Axis{From: chartStart, Step: time.Hour, Count: 2}, Rows: []string{"low", "high"}, Counts: [][]int{{100, 0}, {1, 25}}}))
	for _, want := range []string{
		`fill-opacity="1.00" d="M0.07 1.04h.86v.92h-.86z"`, `fill-opacity="0.16" d="M1.07 1.04h.86v.92h-.86z"`, `fill-opacity="0.52" d="M1.07 0.04h.86v.92h-.86z"`,
		`<span>high</span><span>low</span>`, `<td class="num">1</td><td class="num">25</td>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("want %s in\n%s", want, html)
		}
	}
}

func TestDelta(t *testing.T) {
	for _, tt := range []struct {
		got  ui.Delta
		text string
		up   bool
		tone ui.Tone
	}{
		{ui.Change(104.9, 100, ui.LessBetter), "5%", true, ui.Neutral},
		{ui.Change(105.1, 100, ui.LessBetter), "5%", true, ui.Bad},
		{ui.Change(105.1, 100, ui.MoreBetter), "5%", true, ui.OK},
		{ui.Change(90, 100, ui.LessBetter), "10%", false, ui.OK},
		{ui.Change(90, 100, ui.NeitherBetter), "10%", false, ui.Neutral},
		{ui.Change(100, 100, ui.LessBetter), "", false, ui.Neutral},
		{ui.Change(100, 0, ui.LessBetter), "", false, ui.Neutral},
		{ui.Change(5000, 100, ui.NeitherBetter), "50×", true, ui.Neutral},
		{ui.PointChange(1.9, 2.3, ui.LessBetter), "0.4 pt", false, ui.OK},
		{ui.PointChange(2.01, 2.0, ui.LessBetter), "", false, ui.Neutral},
		{ui.PointChange(2, 0, ui.LessBetter), "2.0 pt", true, ui.Bad},
		{ui.CountChange(6, 5), "1", true, ui.Neutral},
		{ui.CountChange(5, 5), "", false, ui.Neutral},
	} {
		if tt.got.Text != tt.text || tt.text != "" && (tt.got.Up != tt.up || tt.got.Tone != tt.tone) {
			t.Errorf("%+v, want %q %v %q", tt.got, tt.text, tt.up, tt.tone)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "–", -1: "–", 500 * time.Microsecond: "0.5 ms", 12 * time.Millisecond: "12 ms", 999 * time.Millisecond: "999 ms", 999_600 * time.Microsecond: "1.0 s",
		1000 * time.Millisecond: "1.0 s", 1200 * time.Millisecond: "1.2 s", 2500 * time.Millisecond: "2.5 s", 130 * time.Second: "130 s",
	} {
		if got := ui.Took(d); got != want {
			t.Errorf("Took(%v) = %q, want %q", d, got, want)
		}
	}
	for _, tt := range []struct {
		part, all int
		want      string
	}{{237, 12481, "1.9%"}, {0, 5, "0%"}, {0, 0, "0%"}, {1, 5000, "<0.1%"}, {1, 10, "10%"}, {9994, 10000, "99%"}, {5, 5, "100%"}} {
		if got := ui.Percent(tt.part, tt.all); got != tt.want {
			t.Errorf("Percent(%d, %d) = %q, want %q", tt.part, tt.all, got, tt.want)
		}
	}
	if got := fmt.Sprint(ui.Short(999.9), " ", ui.Short(12_481), " ", ui.Millis(1500), " ", ui.Millis(0)); got != "1k 12.5k 1.5 s 0" {
		t.Error(got)
	}
}

func TestUpBars(t *testing.T) {
	html := draw(t, ui.UpBars([]ui.Tone{ui.OK, ui.Bad, ui.Neutral}))
	if got := fmt.Sprint(words(html, `class="(b-[a-z]+)"`)); got != "[b-ok b-bad b-idle]" {
		t.Error(got)
	}
}
