package routes_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access/quotas"
)

// TestLimitsOfProjectForm adds, changes and removes limits on the settings page.
func TestLimitsOfProjectForm(t *testing.T) {
	a := routestest.NewAdmin(t)
	const path = "/admin/projects/p/settings"
	rest := values("name", "P", "authMode", "api_key", "toolExposure", "full", "toolNameLimit", "0", "rateLimit.perSecond", "0", "rateLimit.burst", "0")
	save := func(fields ...string) (int, string) {
		t.Helper()
		form := maps.Clone(rest)
		maps.Copy(form, values(fields...))
		status, body, _ := a.Send(t, path, form)
		return status, body
	}
	row := func(i int, per, match, perSecond, burst, perDay string) []string {
		at := fmt.Sprintf("limits[%d].", i)
		return []string{"limits", "shown", at + "per", per, at + "match", match, at + "perSecond", perSecond, at + "burst", burst, at + "perDay", perDay}
	}
	stored := func(want ...models.Limit) {
		t.Helper()
		p, err := a.Services.Projects.Project(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(append([]models.Limit{}, want...), append([]models.Limit{}, p.Limits...)); d != "" {
			t.Fatalf("stored (-want +got):\n%s", d)
		}
	}
	saved := func(fields ...string) {
		t.Helper()
		if status, body := save(fields...); status != http.StatusSeeOther {
			t.Fatalf("%d %s", status, body)
		}
	}
	perKey := models.Limit{Per: models.PerKey, Match: "clock__*", PerSecond: 2.5, Burst: 5, PerDay: 100}
	perTool := models.Limit{Per: models.PerTool, Match: "*", PerDay: 7}
	one, two := row(0, "key", " clock__* ", "2.5", "5", "100"), row(1, "tool", "", "", "", "7")

	saved(one...)
	stored(perKey)
	saved(append(one, append(two, row(2, "", "", "", "", "")...)...)...)
	stored(perKey, perTool)
	saved() // a form without the fields of limits
	stored(perKey, perTool)

	for name, c := range map[string]struct {
		fields []string
		errors []string
	}{
		"nothing to count":  {row(0, "", "clock__*", "", "", "1"), []string{`id="f-limits[0].per-error"`, "Choose what to count"}},
		"not a number":      {row(0, "key", "", "many", "", ""), []string{`id="f-limits[0].perSecond-error"`, "Enter a number"}},
		"no number":         {row(0, "key", "", "", "", ""), []string{`id="f-limits[0].perSecond-error"`, "above 0"}},
		"beyond the limit":  {row(0, "key", "", "", "", "1000000001"), []string{`id="f-limits[0].perDay-error"`}},
		"second row":        {append(one, row(1, "key", "clock__*", "", "", "1")...), []string{`id="f-limits[1].match-error"`, "combine them"}},
		"after a removed":   {append(append(one, "limits[0].remove", "on"), row(1, "key", "x", "1.5.2", "", "")...), []string{`id="f-limits[0].perSecond-error"`}},
		"hostile text":      {row(0, `"><script>`, "<b>", "1", "", ""), []string{`id="f-limits[0].per-error"`, "&lt;b&gt;"}},
		"burst without one": {row(0, "key", "", "", "3", "9"), []string{`id="f-limits[0].burst-error"`}},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := save(c.fields...)
			for _, want := range c.errors {
				if status != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
					t.Errorf("%d, no %s in %s", status, want, body)
				}
			}
			if strings.Contains(body, "<script>\"") || strings.Contains(body, "<b>") {
				t.Error("text is not escaped")
			}
			stored(perKey, perTool)
		})
	}

	saved(append(append(one, "limits[0].remove", "on"), two...)...)
	stored(perTool)
	saved("limits", "shown", "limits[0].per", "")
	stored()

	// All rows are used: there is none for a further limit.
	a.Apply(t, `{"projects":{"p":{"limits":[`+many(20)+`]}}}`)
	_, body, _ := a.Send(t, path, nil)
	if strings.Count(body, "<legend") < 20 || strings.Contains(body, "New limit") {
		t.Error("20 limits: the page has a row for another one")
	}
	form := url.Values{}
	for i := range 21 {
		maps.Copy(form, values(row(i, "tool", fmt.Sprint("m", i), "", "", "1")...))
	}
	maps.Copy(form, rest)
	if status, body, _ := a.Send(t, path, form); status != http.StatusUnprocessableEntity || !strings.Contains(body, "at most 20 limits") {
		t.Errorf("21 limits: %d", status)
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"per":"tool","match":"m%d","perDay":1},`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestUsedTodayOnSettingsPage checks the names of counted subjects.
func TestUsedTodayOnSettingsPage(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"p":{"limits":[{"per":"key","perDay":1000},{"per":"person","match":"clock__*","perSecond":5},{"per":"tool","perDay":9},{"per":"project","perDay":5000},{"per":"toolset","perDay":3}]}}}`)
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := a.Key(t, "p", 0)
	people, err := a.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		err := a.Services.Quotas.Allow(quotas.Call{Project: &p.Project, Key: "key:" + id, Person: people[0].ID, Toolsets: []string{"deleted"}, Tool: "clock__days_between"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Services.Quotas.Exchange(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := a.Services.Keys.List(t.Context(), p.Project.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := a.Send(t, "/admin/projects/p/settings", nil)
	_, used, _ := strings.Cut(body, "Used today")
	for _, want := range []string{"Each key", keys[0].Name, "of 1,000", "Each person · clock__*", people[0].Name, "Each tool", "clock__days_between", "Whole project", "All calls", "of 5,000", "Each toolset", "Deleted"} {
		if !strings.Contains(used, want) {
			t.Errorf("no %q in %s", want, used)
		}
	}
	a.Apply(t, `{"projects":{"p":{"limits":[]}}}`)
	if _, body, _ := a.Send(t, "/admin/projects/p/settings", nil); strings.Contains(body, "Used today") {
		t.Error("uses of former limits are on the page")
	}
}
