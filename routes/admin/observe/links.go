package observe

import (
	"net/url"
	"slices"

	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

func (q *activityQuery) path() string { return paths.Activity(q.slug) }

// values returns the parameters of the page except its cursor.
func (q *activityQuery) values() url.Values {
	v := url.Values{}
	q.times.set(v)
	if q.text != "" {
		v.Set("query", q.text)
	}
	if !q.compare {
		v.Set("compare", "0")
	}
	if q.failing {
		v.Set("sort", "failed")
	}
	return v
}

// address returns the URL of the first page with changed parameters.
func (q *activityQuery) address(changes ...func(*activityQuery)) string {
	changed := *q
	for _, change := range changes {
		change(&changed)
	}
	return changed.path() + "?" + changed.values().Encode()
}

// at is a change to other times.
func at(t times) func(*activityQuery) { return func(q *activityQuery) { q.times = t } }

// searching is a change to another query.
func searching(clauses []query.Clause) func(*activityQuery) {
	return func(q *activityQuery) { q.text = (&query.Query{Clauses: clauses}).Canonical() }
}

// hidden returns the parameters of a form that sets the named ones.
func (q *activityQuery) hidden(names ...string) []ui.Pair {
	var pairs []ui.Pair
	v := q.values()
	for _, name := range []string{"period", "from", "to", "zoom", "query", "compare", "sort"} {
		if v.Has(name) && !slices.Contains(names, name) {
			pairs = append(pairs, ui.Pair{Name: name, Value: v.Get(name)})
		}
	}
	return pairs
}

// binding returns the binding of the list's cursors.
func (q *activityQuery) binding() page.Binding {
	v := url.Values{}
	q.times.set(v)
	return page.Binding{Surface: "activity", Scope: q.filter.ProjectID, Query: v.Encode() + " " + (&query.Query{Clauses: q.clauses}).Canonical()}
}

// periods returns the links to the named periods.
func (q *activityQuery) periods() []ui.SegmentItem {
	var items []ui.SegmentItem
	for _, name := range traffic.Names() {
		items = append(items, ui.SegmentItem{Label: name, Current: name == q.times.name, URL: q.address(at(last(name)))})
	}
	return items
}

// only returns the URL that filters by this value of the qualifier alone. If the
// query has this value already, the URL removes it and on is true.
func (q *activityQuery) only(qualifier, value string) (link string, on bool) {
	asks := func(c query.Clause) bool { return !c.Negated && c.Qualifier == qualifier }
	rest := slices.DeleteFunc(slices.Clone(q.clauses), asks)
	if slices.ContainsFunc(q.clauses, func(c query.Clause) bool { return asks(c) && c.Value == value }) {
		return q.address(searching(rest)), true
	}
	return q.address(searching(append(rest, query.Clause{Qualifier: qualifier, Value: value}))), false
}

// The filters with a separate chip.
const (
	slowLimit    = "3s" // the last of traffic.HeatLimits
	maxMoreChips = 12
)

// preset is a filter with a separate chip.
type preset struct{ label, qualifier, value string }

func presets() []preset {
	return []preset{{"Failed", "outcome", "failed"}, {"Slow", "slower", slowLimit}, {"Writes", "readonly", "false"}}
}

// chips returns a chip for each preset with its count, and for each other clause
// of the query, which the chip removes. Plain words have no chip.
func (q *activityQuery) chips(counts map[string]int) []ui.Chip {
	var chips []ui.Chip
	for _, p := range presets() {
		link, on := q.only(p.qualifier, p.value)
		chips = append(chips, ui.Chip{Label: p.label, URL: link, On: on, Count: ui.Count(counts[p.label])})
	}
	for i, c := range q.clauses {
		shown := !c.Negated && slices.ContainsFunc(presets(), func(p preset) bool { return p.qualifier == c.Qualifier && p.value == c.Value })
		if c.Qualifier == "" && !c.Negated || shown || len(chips) == maxMoreChips {
			continue
		}
		label := ui.Clean((&query.Query{Clauses: []query.Clause{c}}).Canonical())
		if r := []rune(label); len(r) > 60 {
			label = string(r[:60]) + "…"
		}
		chips = append(chips, ui.Chip{Label: label, On: true, URL: q.address(searching(slices.Delete(slices.Clone(q.clauses), i, i+1)))})
	}
	return chips
}
