package ui_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"mcpgateway/views/ui"
)

// hostile ends every HTML context that may contain text.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)>{{x}}\`

func TestComponentsEscapeText(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	attributes := templ.Attributes{"title": hostile}
	for name, part := range map[string]templ.Component{
		"Button":      ui.Button(ui.ButtonProps{Label: hostile, Icon: hostile, Kind: hostile, Type: hostile, Name: hostile, Value: hostile, ID: hostile, Form: hostile, FormAction: hostile, Attrs: attributes}),
		"IconOnly":    ui.Button(ui.ButtonProps{Label: hostile, IconOnly: true}),
		"LinkButton":  ui.LinkButton(ui.LinkProps{Label: hostile, URL: hostile, External: true, Attrs: attributes}),
		"ActionForm":  ui.ActionForm(ui.ActionProps{Action: hostile, CSRF: hostile, Label: hostile, Hidden: []ui.Pair{{Name: hostile, Value: hostile}}}),
		"SwitchForm":  ui.SwitchForm(ui.SwitchProps{Action: hostile, CSRF: hostile, Label: hostile, Name: hostile}),
		"CSRF":        ui.CSRF(hostile),
		"Badge":       ui.Badge(hostile, hostile),
		"Status":      ui.Status(hostile, hostile),
		"Kbd":         ui.Kbd(hostile, hostile),
		"Notice":      ui.Notice(hostile, hostile),
		"PageHead":    ui.PageHead(ui.PageHeadProps{Title: hostile, Lead: hostile}),
		"Card":        ui.Card(ui.CardProps{Title: hostile, Lead: hostile}),
		"Empty":       ui.Empty(ui.EmptyProps{Icon: hostile, Title: hostile, Text: hostile, ActionLabel: hostile, ActionURL: hostile}),
		"ErrorState":  ui.ErrorState(hostile, hostile, hostile),
		"Stat":        ui.Stat(ui.StatProps{Label: hostile, Value: hostile, Hint: hostile, Tone: hostile}),
		"Facts":       ui.Facts([]ui.Fact{{Label: hostile, Value: hostile, URL: hostile}, {Label: hostile, Value: hostile}}),
		"Spark":       ui.Spark(ui.SparkProps{Label: hostile, Kind: hostile, Values: []float64{1, 2}, Previous: []float64{1}}),
		"StatCell":    ui.StatCell(ui.StatCellProps{Label: hostile, Hint: hostile, Value: hostile, Unit: hostile, Delta: ui.Delta{Text: hostile}, URL: hostile}),
		"UpBars":      ui.UpBars([]ui.Tone{hostile}),
		"Bars":        ui.Bars(ui.BarsProps{ID: hostile, Label: hostile, Axis: ui.Axis{From: now, Step: time.Hour, Count: 1}, Bars: []ui.Bar{{OK: 1, Partial: true}}, PreviousLabel: hostile, Select: &ui.Selection{From: now, To: now.Add(time.Hour), URL: hostile, BackURL: hostile}}),
		"BarsLegend":  ui.BarsLegend(hostile),
		"Chart":       ui.Chart(ui.ChartProps{ID: hostile, Label: hostile, Axis: ui.Axis{From: now, Step: time.Hour, Count: 1}, Lines: []ui.Line{{Name: hostile, Hint: hostile, Kind: hostile, Values: []float64{1}}}}),
		"ChartLegend": ui.ChartLegend([]ui.Line{{Name: hostile, Hint: hostile, Kind: hostile}}),
		"Heat":        ui.Heat(ui.HeatProps{ID: hostile, Label: hostile, Axis: ui.Axis{From: now, Step: time.Hour, Count: 1}, Rows: []string{hostile}, Counts: [][]int{{1}}}),
		"Table":       ui.Table(ui.TableProps{Caption: hostile, Columns: []ui.Column{{Label: hostile}, {Label: hostile, Hidden: true}}}),
		"Pager":       ui.Pager(ui.PagerProps{Label: hostile, FirstURL: hostile, PreviousURL: hostile, NextURL: hostile, Shown: hostile}),
		"Tabs":        ui.Tabs(hostile, []ui.Tab{{Label: hostile, URL: hostile, Count: hostile}}),
		"SearchBox": ui.SearchBox(ui.SearchProps{
			Action: hostile, Query: hostile, Name: hostile, Label: hostile, Placeholder: hostile, HelpURL: hostile, Hidden: []ui.Pair{{Name: hostile, Value: hostile}},
			Chips: []ui.Chip{{Label: hostile, URL: hostile, Count: hostile}}, Error: &ui.QueryError{Message: hostile, Start: 1, End: 9, FixLabel: hostile, FixURL: hostile}, Live: true,
		}),
		"Facets":      ui.Facets([]ui.Facet{{Title: hostile, Options: []ui.FacetOption{{Label: hostile, URL: hostile, On: true}}}}),
		"Field":       ui.Field(field("")),
		"Textarea":    ui.Field(field(ui.TextareaField)),
		"Secret":      ui.Field(field(ui.SecretField)),
		"Select":      ui.Field(field(ui.SelectField)),
		"Switch":      ui.Field(field(ui.SwitchField)),
		"Radio":       ui.Field(field(ui.RadioField)),
		"FormErrors":  ui.FormErrors([]ui.FieldError{{FieldID: hostile, Message: hostile}, {Message: hostile}}),
		"Copy":        ui.Copy(hostile, hostile),
		"ShownOnce":   ui.Secret(hostile, hostile),
		"Snippet":     ui.Snippet(hostile, hostile),
		"SnippetTabs": ui.SnippetTabs(hostile, hostile, []ui.SnippetTab{{Label: hostile, Place: hostile, Text: "a" + hostile + "b" + hostile, Secret: hostile, File: ui.SnippetFile{Name: hostile, Text: hostile}, Note: hostile, LinkLabel: hostile, LinkURL: hostile}}),
		"SaveBar":     ui.SaveBar(ui.SaveBarProps{URL: hostile, Unsaved: true}),
		"Dialog":      ui.Dialog(ui.DialogProps{ID: hostile, Label: hostile, Title: hostile, Icon: hostile}),
		"Confirm": ui.Confirm(ui.ConfirmProps{
			ID: hostile, Label: hostile, Title: hostile, Action: hostile, CSRF: hostile, Submit: hostile, Stops: []string{hostile}, TypeName: hostile, Error: hostile,
			Hidden: []ui.Pair{{Name: hostile, Value: hostile}},
		}),
		"Toast": ui.Toast(hostile, hostile),
		"Tree":  ui.Tree([]ui.Node{{Name: hostile, Type: hostile, Value: hostile, Text: hostile, Note: hostile, Children: []ui.Node{{Name: hostile}}}}),
		"Diff":  ui.Diff(hostile, []ui.DiffLine{{Op: '+', Text: hostile}, {Op: '-', Text: hostile}, {Op: ' ', Text: hostile}}),
		"Raw":   ui.Raw(hostile),
		"Tile":  ui.Tile(hostile),
		"Time":  ui.Time(now, hostile),
		"Image": ui.Image(hostile, hostile),
	} {
		t.Run(name, func(t *testing.T) {
			html := draw(t, part)
			if html == "" {
				t.Fatal("empty output")
			}
			for _, raw := range []string{"<script", "<img src=x", `"'>`} {
				if strings.Contains(html, raw) {
					t.Errorf("output contains %q as markup:\n%s", raw, html)
				}
			}
			// The content security policy rejects both.
			if found := regexp.MustCompile(`<[^>"]*(?:"[^"]*"[^>"]*)*\s(?:style|on[a-z]+)=`).FindString(html); found != "" {
				t.Errorf("inline style or script: %s", found)
			}
		})
	}
}

func field(kind ui.FieldKind) ui.FieldProps {
	return ui.FieldProps{
		Kind: kind, Name: hostile, ID: hostile, Label: hostile, Value: hostile, Hint: hostile, Error: hostile, Placeholder: hostile,
		Autocomplete: hostile, Pattern: hostile, Min: hostile, Options: []ui.Option{{Value: hostile, Label: hostile, Hint: hostile}},
	}
}

func TestSecretFieldHasNoValue(t *testing.T) {
	html := draw(t, ui.Field(ui.FieldProps{Kind: ui.SecretField, Name: "token", Label: "Token", Value: "hunter2"}))
	if strings.Contains(html, "hunter2") {
		t.Errorf("page contains the value: %s", html)
	}
}

func TestFieldDescription(t *testing.T) {
	for _, tc := range []struct{ hint, err, described string }{
		{"", "", ""},
		{"a hint", "", `aria-describedby="f-x-hint"`},
		{"", "wrong", `aria-describedby="f-x-error"`},
		{"a hint", "wrong", `aria-describedby="f-x-hint f-x-error"`},
	} {
		for _, kind := range []ui.FieldKind{ui.TextField, ui.SelectField, ui.TextareaField, ui.SwitchField, ui.CheckField, ui.RadioField, ui.SecretField, ui.FileField} {
			html := draw(t, ui.Field(ui.FieldProps{Kind: kind, Name: "x", Label: "X", Hint: tc.hint, Error: tc.err}))
			if tc.described == "" && strings.Contains(html, "aria-describedby") || !strings.Contains(html, tc.described) {
				t.Errorf("%q with hint %q and error %q: %s", kind, tc.hint, tc.err, html)
			}
			if got := strings.Contains(html, `aria-invalid="true"`); got != (tc.err != "") && kind != ui.RadioField {
				t.Errorf("%q with error %q: aria-invalid = %t", kind, tc.err, got)
			}
		}
	}
}

func TestQueryErrorMarksClause(t *testing.T) {
	for _, tc := range []struct {
		query      string
		start, end int
		want       string
	}{
		{"tag:a foo:b c", 6, 11, "tag:a <mark>foo:b</mark> c"},
		{"文書 foo:b", 3, 8, "文書 <mark>foo:b</mark>"},
		{"😀 -", 2, 3, "😀 <mark>-</mark>"},
		{"abc", 3, 3, "abc<mark>\u00a0</mark>"},
		{"abc", 2, 99, "ab<mark>c</mark>"},
		{"abc", -5, 1, "<mark>a</mark>bc"},
		{"abc", 9, 1, "abc<mark>\u00a0</mark>"},
		{"a <b> c", 2, 5, "a <mark>&lt;b&gt;</mark> c"},
	} {
		html := draw(t, ui.SearchBox(ui.SearchProps{Query: tc.query, Label: "Search", Error: &ui.QueryError{Message: "x", Start: tc.start, End: tc.end}}))
		if !strings.Contains(html, ">"+tc.want+"</code>") {
			t.Errorf("%q from %d to %d: want %q in\n%s", tc.query, tc.start, tc.end, tc.want, html)
		}
	}
}

func TestLiveSearchTriggers(t *testing.T) {
	for _, live := range []bool{true, false} {
		html := draw(t, ui.SearchBox(ui.SearchProps{Action: "/registry", Label: "Search", Live: live}))
		if got := strings.Contains(html, "hx-boost"); got != live {
			t.Errorf("live %t: %s", live, html)
		}
	}
}

func TestSwitchPostsOtherState(t *testing.T) {
	for on, want := range map[bool]string{
		true:  `aria-checked="true" aria-label="x" name="enabled" value="false"`,
		false: `aria-checked="false" aria-label="x" name="enabled" value="true"`,
	} {
		if html := draw(t, ui.SwitchForm(ui.SwitchProps{Action: "/x", Label: "x", On: on, Name: "enabled"})); !strings.Contains(html, want) {
			t.Errorf("on %t: want %s in %s", on, want, html)
		}
	}
}

func TestTileLettersAndColor(t *testing.T) {
	for name, letters := range map[string]string{
		"Example": "Ex", "Acme Drive": "AD", "acme7": "Ac", "x": "X", "": "?", "---": "?", "文書": "文書", "a.b": "AB", "<b>": "B",
	} {
		html := draw(t, ui.Tile(name))
		if !strings.Contains(html, ">"+letters+"</span>") {
			t.Errorf("%q: want %q in %s", name, letters, html)
		}
		if again := draw(t, ui.Tile(name)); again != html {
			t.Errorf("%q changed from %s to %s", name, html, again)
		}
	}
	hues := map[string]bool{}
	for i := range 1000 {
		hues[regexp.MustCompile(`\bh\d+\b`).FindString(draw(t, ui.Tile(fmt.Sprint("name", i))))] = true
	}
	if len(hues) != 12 {
		t.Errorf("%d colors, want 12", len(hues))
	}
}

func TestTimeMarkup(t *testing.T) {
	at := time.Date(2026, 3, 4, 13, 5, 6, 0, time.FixedZone("", 3600))
	same(t, "with words", draw(t, ui.Time(at, "2 min ago")), `<time datetime="2026-03-04T12:05:06Z" title="2026-03-04 12:05:06 UTC">2 min ago</time>`)
	same(t, "without words", draw(t, ui.Time(at, "")), `<time datetime="2026-03-04T12:05:06Z" title="2026-03-04 12:05:06 UTC">2026-03-04 12:05</time>`)
	same(t, "the zero time", draw(t, ui.Time(time.Time{}, "")), "–")
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for ago, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago", time.Hour: "1 h ago",
		23*time.Hour + 59*time.Minute: "23 h ago", day: "1 day ago", 59 * day: "59 days ago", 60 * day: "2 months ago", 729 * day: "24 months ago", 730 * day: "2 years ago",
		-59 * time.Second: "in a moment", -time.Minute: "in 1 min", -2 * day: "in 2 days",
	} {
		if got := ui.Ago(now, now.Add(-ago)); got != want {
			t.Errorf("%s: %q, want %q", ago, got, want)
		}
	}
	if got := ui.Ago(now, time.Time{}); got != "never" {
		t.Errorf("zero time: %q", got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12480: "12,480", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := ui.Count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools", 5000: "5,000 tools"} {
		if got := ui.Plural(n, "tool", "tools"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestSnippetTabsKeepText(t *testing.T) {
	tabs := []ui.SnippetTab{{Label: "One", Text: "a\n  b"}, {Label: "Two", Text: "x <k1> 'k1'", Secret: "k1"}}
	ui.Choose(tabs, "two")
	html := draw(t, ui.SnippetTabs("client", "Client", tabs))
	for _, want := range []string{
		"<code>a\n  b</code>", `<code>x &lt;<span class="hl">k1</span>&gt; &#39;<span class="hl">k1</span>&#39;</code>`, `value="two" checked`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("tabs lack %s:\n%s", want, html)
		}
	}
	if strings.Count(html, " checked") != 1 {
		t.Error("not exactly one tab is chosen")
	}
	ui.Choose(tabs, "unknown")
	if html := draw(t, ui.SnippetTabs("client", "Client", tabs)); !strings.Contains(html, `value="one" checked`) {
		t.Error("first tab is not chosen")
	}
}
