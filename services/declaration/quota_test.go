package declaration_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

// limits returns a function for n limits with the members besides per.
func limits(members func(i int) string) func(int) string {
	return func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = `{"per":"key",` + members(i) + `}`
		}
		return "[" + strings.Join(items, ",") + "]"
	}
}

// limit returns a function for one limit whose member has a value of size n.
func limit(member string, value func(int) string) func(int) string {
	rest := map[string]string{"match": `,"perDay":1`, "burst": `,"perSecond":1`, "perSecond": `,"match":"*"`, "perDay": `,"perSecond":1`}[member]
	return func(n int) string { return `[{"per":"key",` + quote(member) + ":" + value(n) + rest + "}]" }
}

func TestLimitProblems(t *testing.T) {
	const at = "projects.p.limits"
	for _, c := range []struct{ limits, path, message string }{
		{`{}`, at, "array of objects"},
		{`null`, at, "array of objects"},
		{`[1]`, at + "[0]", "use an object"},
		{`[{}]`, at + "[0].per", "required"},
		{`[{"per":"user","perDay":1}]`, at + "[0].per", "use one of key, person, toolset, tool, project"},
		{`[{"per":"Key","perDay":1}]`, at + "[0].per", "use one of"},
		{`[{"per":"key","perDay":1},{"per":"tool","match":"","perDay":1}]`, at + "[1].match", "1 to 256 bytes"},
		{`[{"per":"key","match":"a\u0000","perDay":1}]`, at + "[0].match", "1 to 256 bytes"},
		{`[{"per":"key","match":["*"],"perDay":1}]`, at + "[0].match", "use a string"},
		{`[{"per":"key"}]`, at + "[0].perSecond", "above 0 here or in perDay"},
		{`[{"per":"key","perSecond":0,"perDay":0}]`, at + "[0].perSecond", "above 0 here or in perDay"},
		{`[{"per":"key","perSecond":-1}]`, at + "[0].perSecond", "from 0 to 1000000"},
		{`[{"per":"key","perSecond":"1"}]`, at + "[0].perSecond", "from 0 to 1000000"},
		{`[{"per":"key","perDay":1.5}]`, at + "[0].perDay", "whole number"},
		{`[{"per":"key","perDay":1,"burst":2}]`, at + "[0].burst", "needs perSecond"},
		{`[{"per":"key","perday":1}]`, at + "[0].perday", "did you mean perDay?"},
		{`[{"per":"key","perDay":1,"window":60}]`, at + "[0].window", "unknown key"},
		{`[{"per":"key","perDay":1},{"per":"key","match":"*","perSecond":1}]`, at + "[1].match", "projects.p.limits[0] has the same per and match"},
	} {
		t.Run(c.limits, func(t *testing.T) {
			_, err := declaration.Parse([]byte(inProject(`"limits":` + c.limits)))
			wantProblem(t, err, c.message, c.path)
		})
	}
}

// TestCheckLimits checks limits that come from a form.
func TestCheckLimits(t *testing.T) {
	good := []models.Limit{{Per: models.PerKey, Match: "*", PerDay: 1}}
	for name, c := range map[string]struct {
		limits  []models.Limit
		problem string
	}{
		"valid":   {good, ""},
		"none":    {[]models.Limit{}, ""},
		"no per":  {[]models.Limit{good[0], {Match: "*", PerDay: 1}}, "limits[1].per"},
		"no rate": {[]models.Limit{{Per: models.PerKey, Match: "*"}}, "limits[0].perSecond"},
		"match":   {[]models.Limit{{Per: models.PerKey, PerDay: 1}}, "limits[0].match"},
		"twice":   {[]models.Limit{good[0], good[0]}, "limits[1].match"},
		"many":    {make([]models.Limit, 22), "limits"},
	} {
		t.Run(name, func(t *testing.T) {
			given := c.limits
			checked, problems := (&declaration.Project{Limits: &given}).Check()
			if c.problem == "" {
				if len(problems) > 0 || checked.Limits == nil || fmt.Sprint(*checked.Limits) != fmt.Sprint(c.limits) {
					t.Errorf("got %v, %v", checked.Limits, problems)
				}
				return
			}
			if problems[c.problem] == "" || checked.Limits != nil {
				t.Errorf("got %v, %v; want a problem of %s", checked.Limits, problems, c.problem)
			}
		})
	}
}
