package overview

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	"mcpgateway/views/paths"
)

// Limits and intervals of the numbers.
const (
	numbersEvery = 5 * time.Second
	listRows     = 5
	mostCallers  = 50
	mostFailing  = 3
)

// A tool needs attention when at least this many calls, and this share of them,
// failed within the last hour.
const (
	failingCalls = 3
	failingShare = 20 // percent
)

// highFailures is the share of failed calls, in percent, that is colored.
const highFailures = 5

// numbers are the numbers of a period and the project's keys.
type numbers struct {
	now     time.Time
	report  *traffic.Report
	tools   []traffic.Row // the busiest
	servers []traffic.Row
	callers []traffic.Row
	names   map[string]string // of the callers
	failing []failure
	keys    []models.Key
	moved   map[string]toolsets.Moved // by toolset id
}

// failure is a tool whose calls fail, with the most frequent error.
type failure struct {
	traffic.Row
	code string
}

// read reads the numbers of a period that ends now.
func (o *Overview) read(ctx context.Context, p *toolset.Snapshot, period string, now time.Time) (n numbers, err error) {
	f := traffic.Filter{ProjectID: p.Project.ID}
	last, _ := traffic.Last(period, now)
	n = numbers{now: now, names: map[string]string{}}
	if n.report, err = o.Traffic.Report(ctx, f, last, true); err != nil {
		return n, err
	}
	for _, list := range []struct {
		rows *[]traffic.Row
		by   traffic.By
		most int
	}{{&n.tools, traffic.ByTool, listRows}, {&n.servers, traffic.ByServer, traffic.MaxRows}, {&n.callers, traffic.ByCaller, mostCallers}} {
		if *list.rows, err = o.Traffic.Top(ctx, f, last, list.by, list.most); err != nil {
			return n, err
		}
	}
	if n.failing, err = o.failing(ctx, f, now); err != nil {
		return n, err
	}
	if n.moved, err = o.moved(ctx, p); err != nil {
		return n, err
	}
	n.keys, err = o.Keys.List(ctx, p.Project.ID)
	o.name(ctx, &n)
	return n, err
}

// moved returns the toolsets whose tools a sync changed.
func (o *Overview) moved(ctx context.Context, p *toolset.Snapshot) (map[string]toolsets.Moved, error) {
	var rows []models.Toolset
	for _, t := range p.ToolsetsBySlug() {
		rows = append(rows, *t)
	}
	return o.Toolsets.Moved(ctx, p.Project.Slug, rows)
}

// failing returns the tools whose calls fail now, with the cause.
func (o *Overview) failing(ctx context.Context, f traffic.Filter, now time.Time) ([]failure, error) {
	hour, _ := traffic.Last("1h", now)
	rows, err := o.Traffic.Failing(ctx, f, hour, traffic.ByTool, mostFailing)
	var failing []failure
	for _, row := range rows {
		if row.Failed < failingCalls || row.Failed*100 < row.Calls*failingShare {
			continue
		}
		f.Tool = row.Name
		causes, err := o.Traffic.Errors(ctx, f, hour, 1)
		if err != nil {
			return nil, err
		}
		one := failure{Row: row}
		if len(causes) > 0 {
			one.code = causes[0].Code
		}
		failing = append(failing, one)
	}
	return failing, err
}

// The prefixes of principals.
const (
	keyPrincipal  = "key:"
	userPrincipal = "user:"
)

// name finds the names of the callers.
func (o *Overview) name(ctx context.Context, n *numbers) {
	for _, key := range n.keys {
		n.names[keyPrincipal+key.ID] = cmp.Or(key.Name, key.Prefix+"…")
	}
	for _, row := range n.callers {
		if n.names[row.Name] != "" {
			continue
		}
		name := "Anyone"
		if id, ok := strings.CutPrefix(row.Name, userPrincipal); ok {
			name = "Deleted person"
			if person, err := o.People.Get(ctx, id); err == nil {
				name = reach.Of(ctx).Call(person.ID, person.Name, cmp.Or(person.Name, person.Email))
			}
		} else if strings.HasPrefix(row.Name, keyPrincipal) {
			name = "Deleted key"
		}
		n.names[row.Name] = name
	}
}

// usable returns the keys that clients can use, those that expire first at the
// beginning.
func (n *numbers) usable() []models.Key {
	keys := slices.DeleteFunc(slices.Clone(n.keys), func(k models.Key) bool {
		return k.RevokedAt != nil || k.ExpiresAt != nil && !k.ExpiresAt.After(n.now)
	})
	slices.SortStableFunc(keys, func(a, b models.Key) int {
		if a.ExpiresAt == nil || b.ExpiresAt == nil {
			return cmp.Compare(truth(a.ExpiresAt == nil), truth(b.ExpiresAt == nil))
		}
		return a.ExpiresAt.Compare(*b.ExpiresAt)
	})
	return keys
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// clause is a condition of a search for calls.
type clause struct{ qualifier, value string }

// activityURL returns the calls of a project that match the conditions.
func activityURL(slug, period string, clauses ...clause) string {
	var q query.Query
	for _, c := range clauses {
		q.Clauses = append(q.Clauses, query.Clause{Qualifier: c.qualifier, Value: c.value})
	}
	values := url.Values{"period": {period}}
	if len(clauses) > 0 {
		values.Set("query", q.Canonical())
	}
	return paths.Activity(slug) + "?" + values.Encode()
}

// isHigh reports whether so many calls failed that the share is colored.
func isHigh(failed, calls int) bool { return failed*100 >= calls*highFailures && failed > 0 }
