package observe

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// activityGrammar returns the query grammar of the call search.
func activityGrammar() query.Grammar {
	return query.Grammar{Surface: "call", Qualifiers: map[string]query.Kind{
		"tool": query.Text, "server": query.Text, "outcome": query.Text, "caller": query.Text, "slower": query.Text, "readonly": query.Bool, "type": query.Fixed, "entity": query.Fixed,
	}}
}

// activityQuery holds the parsed parameters of a page of calls.
type activityQuery struct {
	slug    string
	now     time.Time
	text    string
	times   times
	compare bool
	failing bool // lists of tools, servers and callers are sorted by failed calls
	clauses []query.Clause
	scope   traffic.Filter      // of the numbers: without clauses about results
	filter  activity.CallFilter // of the list
}

// parseQuery parses the URL of a page. For an invalid query it returns the fault and
// the other parameters.
func (a *Activity) parseQuery(c *fiber.Ctx, project *toolset.Snapshot) (*activityQuery, error) {
	values, err := url.ParseQuery(string(c.Context().QueryArgs().QueryString()))
	if err != nil {
		values = url.Values{}
	}
	return a.readQuery(c.UserContext(), project, values)
}

// readQuery is parseQuery for parsed parameters.
func (a *Activity) readQuery(ctx context.Context, project *toolset.Snapshot, values url.Values) (*activityQuery, error) {
	q := &activityQuery{slug: project.Project.Slug, now: time.Now().UTC(), text: strings.TrimSpace(strings.ToValidUTF8(values.Get("query"), "\ufffd"))}
	q.times = readTimes(values, q.now)
	q.compare, q.failing = values.Get("compare") != "0", values.Get("sort") == "failed"
	from, to := q.times.listed()
	q.scope = traffic.Filter{ProjectID: project.Project.ID}
	q.filter = activity.CallFilter{ProjectID: project.Project.ID, Since: from, Until: to}
	read, err := activityGrammar().Parse(q.text)
	if err != nil {
		return q, err
	}
	q.clauses = read.Clauses
	q.filter.Clauses, err = a.conditions(ctx, project, read.Clauses)
	for _, clause := range q.filter.Clauses {
		if !ofResult(clause) {
			q.scope.Clauses = append(q.scope.Clauses, clause)
		}
	}
	return q, err
}

// ofResult reports whether a clause is about the result of a call. Such clauses
// select rows of the list. They don't change the numbers, whose rates they would
// distort.
func ofResult(c activity.CallClause) bool {
	return c.Field == activity.CallOutcome || c.Field == activity.CallSlower
}

// conditions converts a query to a filter of the log: every word, one value of
// each qualifier, and no excluded value must match. It returns INVALID_VALUE for
// an unknown outcome or duration.
func (a *Activity) conditions(ctx context.Context, project *toolset.Snapshot, clauses []query.Clause) ([]activity.CallClause, error) {
	var all []activity.CallClause
	positive := map[string]int{} // index in all, by qualifier
	for i := range clauses {
		condition, err := a.condition(ctx, project, &clauses[i])
		if err != nil {
			return nil, err
		}
		qualifier := clauses[i].Qualifier
		if at, again := positive[qualifier]; again && !condition.Not && qualifier != "" && qualifier != "slower" {
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

func (a *Activity) condition(ctx context.Context, project *toolset.Snapshot, clause *query.Clause) (activity.CallClause, error) {
	c := activity.CallClause{Field: activity.CallWords, Values: []string{clause.Value}, Not: clause.Negated}
	switch clause.Qualifier {
	case "tool":
		c.Field = activity.CallTool
	case "server":
		c.Field = activity.CallServer
	case "readonly":
		c.Field, c.Values = activity.CallTool, toolsWith(project, clause.Bool)
	case "outcome":
		c.Field, c.Values = activity.CallOutcome, outcomesOf(clause.Folded)
		if c.Values == nil {
			return c, invalidValue(clause, "Unknown outcome. Use ok, failed, tool_error, error or cancelled.")
		}
	case "slower":
		c.Field = activity.CallSlower
		if least, err := time.ParseDuration(clause.Value); err != nil || least < 0 {
			return c, invalidValue(clause, "Unknown duration. Use a number with a unit, such as 500ms or 3s.")
		}
	case "caller":
		principals, err := principalsOf(ctx, a.Keys, a.People, project.Project.ID, clause.Value)
		if err != nil {
			return c, err
		}
		c.Field, c.Values = activity.CallPrincipal, principals
	}
	return c, nil
}

// invalidValue returns the fault of a clause with an invalid value.
func invalidValue(clause *query.Clause, message string) error {
	f := fault.New(fault.KindInvalid, fault.CodeInvalidValue, "%s", message)
	f.Span = &clause.Span
	return f
}

// toolsWith returns the names of the project's tools that are annotated as
// read-only, or of the others.
func toolsWith(project *toolset.Snapshot, readOnly bool) []string {
	var names []string
	for _, tool := range project.AllTools() {
		definition, err := rawjson.ParseObject(tool.Raw, rawjson.Lenient)
		if err == nil && readOnly == (string(definition.Object("annotations").Get("readOnlyHint")) == "true") {
			names = append(names, tool.FullName)
			if tool.Name != tool.FullName {
				names = append(names, tool.Name)
			}
		}
	}
	return names
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
