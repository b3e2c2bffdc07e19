package observe

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// activityRevision is the constant cursor revision of a log whose rows never
// change.
const activityRevision = "1"

// activityPeriod is a time range of calls, with the number of chart steps.
type activityPeriod struct {
	name, label string
	length      time.Duration
	steps       int
	format      string // time format of chart labels
}

// activityPeriods returns the available periods. The first is the default.
func activityPeriods() []activityPeriod {
	return []activityPeriod{
		{"1h", "1 hour", time.Hour, 30, "15:04"},
		{"24h", "24 hours", 24 * time.Hour, 48, "15:04"},
		{"7d", "7 days", 7 * 24 * time.Hour, 42, "2 Jan 15:04"},
	}
}

// activityGrammar returns the query grammar of the call search.
func activityGrammar() query.Grammar {
	return query.Grammar{Surface: "call", Qualifiers: map[string]query.Kind{
		"tool": query.Text, "server": query.Text, "outcome": query.Text, "caller": query.Text, "type": query.Fixed, "entity": query.Fixed,
	}}
}

// activityQuery holds the parsed parameters of a page of calls.
type activityQuery struct {
	slug    string
	now     time.Time
	text    string
	period  activityPeriod
	clauses []query.Clause
	filter  activity.CallFilter
}

// parseQuery parses the URL of a page. For an invalid query it returns the fault and
// the other parameters.
func (a *Activity) parseQuery(c *fiber.Ctx, project *toolset.Snapshot) (*activityQuery, error) {
	q := &activityQuery{slug: project.Project.Slug, now: time.Now().UTC(), text: strings.TrimSpace(strings.ToValidUTF8(c.Query("query"), "\ufffd"))}
	periods := activityPeriods()
	q.period = periods[max(0, slices.IndexFunc(periods, func(p activityPeriod) bool { return p.name == c.Query("period") }))]
	step := q.period.length / time.Duration(q.period.steps)
	until := q.now.Truncate(step).Add(step) // so that chart labels are round
	q.filter = activity.CallFilter{ProjectID: project.Project.ID, Since: until.Add(-q.period.length), Until: until}
	read, err := activityGrammar().Parse(q.text)
	if err != nil {
		return q, err
	}
	q.clauses = read.Clauses
	q.filter.Clauses, err = a.conditions(c.UserContext(), project.Project.ID, read.Clauses)
	return q, err
}

// conditions converts a query to a filter of the log: every word, one value of
// each qualifier, and no excluded value must match. It returns INVALID_VALUE for
// an unknown outcome.
func (a *Activity) conditions(ctx context.Context, projectID string, clauses []query.Clause) ([]activity.CallClause, error) {
	var all []activity.CallClause
	positive := map[string]int{} // index in all, by qualifier
	for i := range clauses {
		condition, err := a.condition(ctx, projectID, &clauses[i])
		if err != nil {
			return nil, err
		}
		qualifier := clauses[i].Qualifier
		if at, again := positive[qualifier]; again && !condition.Not && qualifier != "" {
			all[at].Values = append(all[at].Values, condition.Values...)
			continue
		}
		if !condition.Not {
			positive[qualifier] = len(all)
		}
		all = append(all, condition)
	}
	return all, nil
}

func (a *Activity) condition(ctx context.Context, projectID string, clause *query.Clause) (activity.CallClause, error) {
	c := activity.CallClause{Field: activity.CallWords, Values: []string{clause.Value}, Not: clause.Negated}
	switch clause.Qualifier {
	case "tool":
		c.Field = activity.CallTool
	case "server":
		c.Field = activity.CallServer
	case "outcome":
		c.Field, c.Values = activity.CallOutcome, outcomesOf(clause.Folded)
		if c.Values == nil {
			f := fault.New(fault.KindInvalid, fault.CodeInvalidValue, "Unknown outcome. Use ok, failed, tool_error, error or cancelled.")
			f.Span = &clause.Span
			return c, f
		}
	case "caller":
		principals, err := principalsOf(ctx, a.Keys, a.People, projectID, clause.Value)
		if err != nil {
			return c, err
		}
		c.Field, c.Values = activity.CallPrincipal, principals
	}
	return c, nil
}

// outcomesOf returns the outcomes that match a word of a query, or nil.
func outcomesOf(word string) []string {
	switch word {
	case "failed":
		return []string{string(models.CallFailed), string(models.CallToolError)}
	case "canceled":
		return []string{string(models.CallCancelled)}
	case string(models.CallOK), string(models.CallFailed), string(models.CallToolError), string(models.CallCancelled):
		return []string{word}
	}
	return nil
}

// clauseText returns the query text of a clause.
func clauseText(qualifier, value string) string {
	return (&query.Query{Clauses: []query.Clause{{Qualifier: qualifier, Value: value}}}).Canonical()
}

func (q *activityQuery) path() string { return paths.Activity(q.slug) }

// binding returns the binding of the list's cursors.
func (q *activityQuery) binding() page.Binding {
	return page.Binding{Surface: "activity", Scope: q.filter.ProjectID, Query: q.period.name + " " + (&query.Query{Clauses: q.clauses}).Canonical()}
}

// addressValues are the parameters of a URL.
type addressValues url.Values

// values returns the named parameters of the page.
func (q *activityQuery) values(names ...string) addressValues {
	v := addressValues{}
	if slices.Contains(names, "query") && q.text != "" {
		v["query"] = []string{q.text}
	}
	if slices.Contains(names, "period") {
		v["period"] = []string{q.period.name}
	}
	return v
}

// encoded returns the parameters as a query string with "?", or "".
func (v addressValues) encoded() string {
	if len(v) == 0 {
		return ""
	}
	return "?" + url.Values(v).Encode()
}

// with sets one more parameter and returns the query string.
func (v addressValues) with(name, value string) string {
	v[name] = []string{value}
	return v.encoded()
}

// address returns the URL of the first page.
func (q *activityQuery) address() string { return q.path() + q.values("query", "period").encoded() }

// to returns the URL of the first page for other clauses.
func (q *activityQuery) to(clauses []query.Clause) string {
	v := q.values("period")
	if text := (&query.Query{Clauses: clauses}).Canonical(); text != "" {
		v["query"] = []string{text}
	}
	return q.path() + v.encoded()
}

func (q *activityQuery) periods() []ui.Tab {
	var tabs []ui.Tab
	for _, p := range activityPeriods() {
		tabs = append(tabs, ui.Tab{Label: p.label, Current: p.name == q.period.name, URL: q.path() + q.values("query").with("period", p.name)})
	}
	return tabs
}

// only returns the URL that filters by this value of the qualifier alone. If the
// query has this value already, the URL removes it and on is true.
func (q *activityQuery) only(qualifier, value string) (link string, on bool) {
	asks := func(c query.Clause) bool { return !c.Negated && c.Qualifier == qualifier }
	rest := slices.DeleteFunc(slices.Clone(q.clauses), asks)
	if slices.ContainsFunc(q.clauses, func(c query.Clause) bool { return asks(c) && c.Value == value }) {
		return q.to(rest), true
	}
	return q.to(append(rest, query.Clause{Qualifier: qualifier, Value: value})), false
}

// maxActivityChips is the maximum number of chips.
const maxActivityChips = 12

// chips returns a chip for each outcome and for each other clause of the query,
// which the chip removes. Plain words have no chip.
func (q *activityQuery) chips() []ui.Chip {
	var chips []ui.Chip
	for _, o := range []struct{ label, value string }{{"OK", "ok"}, {"Failed", "failed"}, {"Cancelled", "cancelled"}} {
		link, on := q.only("outcome", o.value)
		chips = append(chips, ui.Chip{Label: o.label, URL: link, On: on})
	}
	for i, c := range q.clauses {
		shown := c.Qualifier == "outcome" && !c.Negated && slices.Contains([]string{"ok", "failed", "cancelled"}, c.Value)
		if c.Qualifier == "" && !c.Negated || shown || len(chips) == maxActivityChips {
			continue
		}
		label := ui.Clean((&query.Query{Clauses: []query.Clause{c}}).Canonical())
		if r := []rune(label); len(r) > 60 {
			label = string(r[:60]) + "…"
		}
		chips = append(chips, ui.Chip{Label: label, On: true, URL: q.to(slices.Delete(slices.Clone(q.clauses), i, i+1))})
	}
	return chips
}
