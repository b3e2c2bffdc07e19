package activity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

func TestClauses(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		c := record(t, db, func(c *activity.Calls) {
			a, b, builtin, odd := call(1, "up__Echo", 1, models.CallOK), call(2, "up__add", 1, models.CallFailed), call(3, "gateway_x", 1, models.CallToolError), call(4, "odd%_\\", 1, models.CallCancelled)
			b.Code, b.Principal = "UPSTREAM_TIMEOUT", "key:2"
			builtin.Server, odd.Server = "", "Other"
			for _, row := range []models.Call{a, b, builtin, odd} {
				c.Record(row)
			}
		})
		clause := func(field activity.CallField, values ...string) activity.CallClause {
			return activity.CallClause{Field: field, Values: values}
		}
		not := func(c activity.CallClause) activity.CallClause { c.Not = true; return c }
		const odd = "odd%_\\4"
		for name, tc := range map[string]struct {
			clauses []activity.CallClause
			want    string
		}{
			"no clauses":              {nil, odd + " gateway_x3 up__add2 up__Echo1"},
			"word, case-insensitive":  {[]activity.CallClause{clause(activity.CallWords, "eCHO")}, "up__Echo1"},
			"word in the code":        {[]activity.CallClause{clause(activity.CallWords, "timeout")}, "up__add2"},
			"word in the ID":          {[]activity.CallClause{clause(activity.CallWords, "x3")}, "gateway_x3"},
			"word in the alias":       {[]activity.CallClause{clause(activity.CallWords, "othe")}, odd},
			"two words":               {[]activity.CallClause{clause(activity.CallWords, "up"), clause(activity.CallWords, "add")}, "up__add2"},
			"wildcards are text":      {[]activity.CallClause{clause(activity.CallWords, "%_")}, odd},
			"backslash":               {[]activity.CallClause{clause(activity.CallWords, `\`)}, odd},
			"negated word":            {[]activity.CallClause{not(clause(activity.CallWords, "up"))}, odd + " gateway_x3"},
			"whole tool name":         {[]activity.CallClause{clause(activity.CallTool, "up__ech", "up__add")}, "up__add2"},
			"two outcomes":            {[]activity.CallClause{clause(activity.CallOutcome, "error", "tool_error")}, "gateway_x3 up__add2"},
			"no outcome of two":       {[]activity.CallClause{not(clause(activity.CallOutcome, "error", "tool_error"))}, odd + " up__Echo1"},
			"built-in tools":          {[]activity.CallClause{clause(activity.CallServer, activity.ServerBuiltin)}, "gateway_x3"},
			"alias, case-insensitive": {[]activity.CallClause{clause(activity.CallServer, "OTHER")}, odd},
			"caller":                  {[]activity.CallClause{clause(activity.CallPrincipal, "key:2")}, "up__add2"},
			"slower":                  {[]activity.CallClause{clause(activity.CallSlower, "1ms")}, odd + " gateway_x3 up__add2 up__Echo1"},
			"slower than all":         {[]activity.CallClause{clause(activity.CallSlower, "1.001ms")}, ""},
			"not slower":              {[]activity.CallClause{not(clause(activity.CallSlower, "2ms"))}, odd + " gateway_x3 up__add2 up__Echo1"},
			"no values":               {[]activity.CallClause{clause(activity.CallPrincipal)}, ""},
			"none of no values":       {[]activity.CallClause{not(clause(activity.CallPrincipal))}, odd + " gateway_x3 up__add2 up__Echo1"},
		} {
			calls, _, err := c.List(t.Context(), activity.CallFilter{ProjectID: "p", Clauses: tc.clauses}, "", 10)
			if got := ids(calls); err != nil || got != tc.want {
				t.Errorf("%s: %q, want %q (%v)", name, got, tc.want, err)
			}
		}
		for _, n := range []int{activity.MaxField - 1, activity.MaxField, activity.MaxField + 1} {
			_, _, err := c.List(t.Context(), activity.CallFilter{Clauses: []activity.CallClause{clause(activity.CallWords, strings.Repeat("é", n))}}, "", 1)
			if refused := fault.Is(err, fault.CodeInvalidParameter); refused != (n > activity.MaxField) {
				t.Errorf("%d characters: %v", n, err)
			}
		}
		for _, wrong := range []string{"fast", "", "1"} {
			if _, _, err := c.List(t.Context(), activity.CallFilter{Clauses: []activity.CallClause{clause(activity.CallSlower, wrong)}}, "", 1); !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		for _, wrong := range []string{"a\x00b", "\xff"} {
			if _, _, err := c.List(t.Context(), activity.CallFilter{Clauses: []activity.CallClause{clause(activity.CallTool, wrong)}}, "", 1); !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
	})
}

// TestServerNoneIsNotBuiltin finds calls without a server. Numbers by server are
// tested with the same calls in the package traffic.
func TestServerNoneIsNotBuiltin(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		c := record(t, db, func(c *activity.Calls) {
			for i, row := range []models.Call{
				{Tool: "up__a", Server: "Up"},
				{Tool: "gateway_executeTool"},
				{Tool: "gateway_searchMcpForTask", Outcome: models.CallFailed, Code: "INVALID_PARAMETER"},
				{Tool: "gateway_listTools", Outcome: models.CallFailed, Code: "CODE_MODE_DISABLED"},
				{Tool: "gateway_none", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
				{Tool: "GATEWAY_executeTool", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
				{Tool: "up__none", Outcome: models.CallFailed, Code: "TOOL_NOT_FOUND"},
				{Tool: "up__off", Outcome: models.CallFailed, Code: "TOOL_DISABLED"},
				{Tool: "", Outcome: models.CallFailed, Code: "INVALID_PARAMETER"},
			} {
				row.At, row.ProjectID, row.RequestID = noon, "p", fmt.Sprint(i)
				c.Record(row)
			}
		})
		for _, tc := range []struct {
			clause activity.CallClause
			want   string
		}{
			{activity.CallClause{Field: activity.CallServer, Values: []string{"uP"}}, "0"},
			{activity.CallClause{Field: activity.CallServer, Values: []string{activity.ServerBuiltin}}, "1 2 3"},
			{activity.CallClause{Field: activity.CallServer, Values: []string{activity.ServerNone}}, "4 5 6 7 8"},
			{activity.CallClause{Field: activity.CallServer, Values: []string{"up", activity.ServerBuiltin}}, "0 1 2 3"},
			{activity.CallClause{Field: activity.CallServer, Values: []string{activity.ServerNone, activity.ServerBuiltin}, Not: true}, "0"},
		} {
			calls, _, err := c.List(t.Context(), activity.CallFilter{ProjectID: "p", Clauses: []activity.CallClause{tc.clause}}, "", 20)
			found := strings.Fields(ids(calls)) // in the order of writing, which varies
			slices.Sort(found)
			if got := strings.Join(found, " "); err != nil || got != tc.want {
				t.Errorf("%v: %q, want %q (%v)", tc.clause, got, tc.want, err)
			}
		}
	})
}

func TestGetRequiresProject(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		c := record(t, db, func(c *activity.Calls) { c.Record(call(1, "up__a", 5, models.CallOK)) })
		all, _, err := c.List(t.Context(), activity.CallFilter{}, "", 1)
		if err != nil || len(all) != 1 {
			t.Fatal(len(all), err)
		}
		got, err := c.Get(t.Context(), "p", all[0].ID)
		if diff := cmp.Diff(all[0], got); err != nil || diff != "" {
			t.Errorf("%v (-listed +got):\n%s", err, diff)
		}
		for _, other := range [][2]string{{"q", all[0].ID}, {"p", "unknown"}, {"p", ""}, {"p", "\xff"}, {"p", "a\x00"}, {"p", strings.Repeat("x", 9999)}} {
			if _, err := c.Get(t.Context(), other[0], other[1]); !fault.Is(err, fault.CodeNotFound) {
				t.Errorf("%q: %v", other, err)
			}
		}
	})
}

// TestIDsSinceExcludesNoCall checks that filtering by id excludes no call
// that matches by time.
func TestIDsSinceExcludesNoCall(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		start := time.Now().UTC().Truncate(time.Millisecond)
		at := func(age time.Duration) models.Call {
			c := call(0, "up__a", 1, models.CallOK)
			c.At, c.RequestID = start.Add(-age), age.String()
			return c
		}
		c := record(t, db, func(c *activity.Calls) {
			for _, age := range []time.Duration{0, time.Millisecond, time.Minute, time.Hour, 24 * time.Hour} {
				c.Record(at(age))
			}
		})
		for since, want := range map[time.Duration]string{
			-time.Millisecond: "", 0: "0s", time.Minute: "0s 1ms 1m0s", time.Minute - time.Millisecond: "0s 1ms", 24 * time.Hour: "0s 1ms 1m0s 1h0m0s 24h0m0s",
		} {
			calls, _, err := c.List(t.Context(), activity.CallFilter{Since: start.Add(-since)}, "", 10)
			if got := ids(calls); err != nil || got != want {
				t.Errorf("since %v ago: %q, want %q (%v)", since, got, want, err)
			}
		}
	})
}
