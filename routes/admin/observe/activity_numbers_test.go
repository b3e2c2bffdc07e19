package observe_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/web/webtest"
)

// cells returns the values of the numbers of a page.
func cells(body string) string {
	var values []string
	for _, match := range regexp.MustCompile(`<span class="value">(.*?)</span>`).FindAllStringSubmatch(body, -1) {
		values = append(values, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(match[1], " "))
	}
	return strings.Join(strings.Fields(strings.Join(values, " ")), " ")
}

// hrefs returns the links of a page by text.
func hrefs(body string) map[string]string {
	links := map[string]string{}
	for _, match := range regexp.MustCompile(`(?s)<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(body, -1) {
		text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(match[2], " ")), " ")
		links[text] = html.UnescapeString(match[1])
	}
	return links
}

// TestFiltersKeepDenominators checks that a filter for failed calls doesn't make
// all calls failed ones.
func TestFiltersKeepDenominators(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	for i, outcome := range []models.Outcome{models.CallOK, models.CallOK, models.CallOK, models.CallFailed} {
		a.call(t, i, "up__echo", "anonymous", outcome)
	}
	a.call(t, 5, "other__echo", "anonymous", models.CallToolError)
	a.stored(t, 5)
	for query, want := range map[string]struct{ numbers, matches string }{
		"":                             {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", ""},
		"outcome:failed":               {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", "2 of 5 failed (40%)"},
		"outcome:ok":                   {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", "3 of 5 match (60%)"},
		"slower:4ms":                   {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", "2 of 5 match (40%)"},
		"server:up":                    {"4 25.0 % 2.0 ms 2.0 ms 2.0 ms", ""},
		"server:up outcome:failed":     {"4 25.0 % 2.0 ms 2.0 ms 2.0 ms", "1 of 4 failed (25%)"},
		"outcome:failed slower:1h":     {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", "0 of 5 match (0%)"},
		"outcome:failed outcome:error": {"5 40.0 % 2.0 ms 3.1 ms 3.1 ms", "2 of 5 failed (40%)"},
	} {
		body := a.get(t, activityPath+"?query="+url.QueryEscape(query)).Body
		if got := cells(body); got != want.numbers {
			t.Errorf("%s: numbers %q, want %q", query, got, want.numbers)
		}
		matches := strings.TrimSpace(regexp.MustCompile(`id="activity-matches">([^<]*)<`).FindStringSubmatch(body)[1])
		if matches != want.matches {
			t.Errorf("%s: %q, want %q", query, matches, want.matches)
		}
	}
	links := hrefs(a.get(t, activityPath).Body)
	for label, query := range map[string]string{"Failed 2": "outcome:failed", "Slow 0": "slower:3s", "Writes 0": "readonly:false"} {
		if got, _ := url.Parse(links[label]); got == nil || got.Query().Get("query") != query {
			t.Errorf("chip %q leads to %q", label, links[label])
		}
	}
	on := hrefs(a.get(t, activityPath+"?query=outcome:failed").Body)
	if off := on["Failed 2 (on)"]; off == "" || strings.Contains(off, "query") {
		t.Errorf("chip that is on leads to %q in %v", off, on)
	}
}

func TestActivityPeriods(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	now := time.Now().UTC().Truncate(time.Minute)
	a.call(t, 5, "up__new", "anonymous", models.CallOK)
	a.call(t, 180, "up__old", "anonymous", models.CallFailed)
	a.stored(t, 2)
	stamp := func(minutes int) string { return now.Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339) }
	part := url.Values{"from": {stamp(240)}, "to": {stamp(120)}}
	selected := url.Values{"period": {"24h"}, "from": part["from"], "to": part["to"]}

	page := a.get(t, activityPath+"?"+selected.Encode()).Body
	if cells := cells(page); !strings.HasPrefix(cells, "2 ") || strings.Contains(listOf(page), "up__new") || !strings.Contains(listOf(page), "up__old") || !strings.Contains(page, `class="sel"`) || !strings.Contains(page, "selected") {
		t.Errorf("selection: numbers %q", cells)
	}
	links := hrefs(page)
	for label, want := range map[string]url.Values{
		"Zoom in":               {"from": part["from"], "to": part["to"], "zoom": {"24h"}},
		"Show its failed calls": {"period": {"24h"}, "from": part["from"], "to": part["to"], "query": {"outcome:failed"}},
		"Clear selection":       {"period": {"24h"}},
	} {
		if got, _ := url.Parse(links[label]); got == nil || got.Query().Encode() != want.Encode() {
			t.Errorf("%s leads to %q, want %q", label, links[label], want.Encode())
		}
	}
	zoomed := a.get(t, links["Zoom in"]).Body
	if cells := cells(zoomed); !strings.HasPrefix(cells, "1 100.0") || strings.Contains(listOf(zoomed), "up__new") || strings.Contains(zoomed, `class="sel"`) {
		t.Errorf("zoomed: numbers %q", cells)
	}
	if back, _ := url.Parse(hrefs(zoomed)["Zoom out"]); back.Query().Encode() != selected.Encode() {
		t.Errorf("zooming out leads to %v", back)
	}
	form := url.Values{"from": {now.Add(-4 * time.Hour).Format("2006-01-02T15:04")}, "to": {now.Add(-2 * time.Hour).Format("2006-01-02T15:04")}}
	if cells := cells(a.get(t, activityPath+"?"+form.Encode()).Body); !strings.HasPrefix(cells, "1 100.0") {
		t.Errorf("times of the form: numbers %q", cells)
	}
	for name, wrong := range map[string]url.Values{
		"reversed": {"from": part["to"], "to": part["from"]}, "no end": {"from": part["from"]}, "text": {"from": {"then"}, "to": {"now"}},
		"too old": {"from": {"2001-01-01T00:00:00Z"}, "to": {"2001-01-02T00:00:00Z"}}, "future": {"from": {"2999-01-01T00:00:00Z"}, "to": {"2999-01-02T00:00:00Z"}},
	} {
		answer := a.get(t, activityPath+"?"+wrong.Encode())
		if cells := cells(answer.Body); answer.Status != 200 || !strings.HasPrefix(cells, "2 50.0") {
			t.Errorf("%s: status %d, numbers %q", name, answer.Status, cells)
		}
	}
}

func TestActivitySortAndCompare(t *testing.T) {
	a := watch(t, modelstest.SQLite(t))
	for i, tool := range []string{"up__often", "up__often", "up__often", "up__broken", "up__broken"} {
		outcome := models.CallOK
		if tool == "up__broken" {
			outcome = models.CallFailed
		}
		a.call(t, i, tool, "anonymous", outcome)
	}
	a.stored(t, 5)
	first := func(query string) string {
		return regexp.MustCompile(`title="(up__[a-z]+)"`).FindStringSubmatch(a.get(t, activityPath+query).Body)[1]
	}
	if got := first(""); got != "up__often" {
		t.Errorf("most called tool %s", got)
	}
	if got := first("?sort=failed"); got != "up__broken" {
		t.Errorf("most failing tool %s", got)
	}
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"Compare with the day before", "Day before</", "compare=0", "Calls are kept for 7 days at most"}}, a.get(t, activityPath))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"Compare with the week before"}, NotBody: []string{"Week before</"}}, a.get(t, activityPath+"?period=7d&compare=0"))
}
