package declaration

import (
	"fmt"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// quota is one limit of a project as declared.
type quota struct {
	per       *models.LimitPer
	match     *string
	perSecond *float64
	burst     *int64
	perDay    *int64
}

// anyTool is the pattern of a limit on all tools.
const anyTool = "*"

func (r *reader) quotaFields(q *quota) fields {
	return fields{
		"per":       oneOf(r, &q.per, models.PerKey, models.PerPerson, models.PerToolset, models.PerTool, models.PerProject),
		"match":     r.pattern(&q.match),
		"perSecond": r.number(&q.perSecond, MaxRatePerSecond),
		"burst":     r.integer(&q.burst, 0, MaxRatePerSecond),
		"perDay":    r.integer(&q.perDay, 0, MaxPerDay),
	}
}

// pattern returns the field of a glob of 1 to MaxPattern bytes.
func (r *reader) pattern(dst **string) field {
	return value(r, dst, "use a string", rawjson.String, func(s string) (string, string) {
		if s = string([]rune(s)); s == "" || len(s) > MaxPattern || strings.ContainsRune(s, 0) {
			return "", fmt.Sprintf("use a pattern of 1 to %d bytes", MaxPattern)
		}
		return s, ""
	})
}

// limits returns the field of a project's limits.
func (r *reader) limits(dst **[]models.Limit) field {
	accept := func(path string, declared []quota, problems int) {
		if *dst = nil; len(declared) > MaxLimits {
			r.problem(path, fmt.Sprintf("use at most %d limits", MaxLimits))
			return
		}
		list := make([]models.Limit, 0, len(declared))
		for i := range declared {
			list = append(list, r.limit(fmt.Sprintf("%s[%d]", path, i), &declared[i]))
		}
		if len(r.problems) == problems {
			r.effective(path, list)
		}
		if len(r.problems) == problems {
			*dst = &list
		}
	}
	return field{
		read: func(path string, raw []byte) {
			items, err := rawjson.Elements(raw, rawjson.Strict)
			if err != nil {
				r.problem(path, "use an array of objects")
				return
			}
			items = items[:min(len(items), MaxLimits+1)]
			problems, declared := len(r.problems), make([]quota, len(items))
			for i, item := range items {
				r.object(fmt.Sprintf("%s[%d]", path, i), item, r.quotaFields(&declared[i]))
			}
			accept(path, declared, problems)
		},
		check: func(path string) {
			if *dst == nil {
				return
			}
			given := **dst
			given = given[:min(len(given), MaxLimits+1)]
			problems, declared := len(r.problems), make([]quota, len(given))
			for i, l := range given {
				declared[i] = quota{&l.Per, &l.Match, &l.PerSecond, &l.Burst, &l.PerDay}
				r.quotaFields(&declared[i]).check(fmt.Sprintf("%s[%d]", path, i))
			}
			accept(path, declared, problems)
		},
		value: func() any {
			if *dst == nil {
				return nil
			}
			return append([]models.Limit{}, **dst...)
		},
	}
}

// limit returns a declared limit with the defaults of absent keys.
func (r *reader) limit(path string, q *quota) models.Limit {
	l := models.Limit{Match: anyTool}
	if q.per != nil {
		l.Per = *q.per
	} else if r.problems[path] == "" {
		r.problem(Join(path, "per"), "this key is required")
	}
	if q.match != nil {
		l.Match = *q.match
	}
	if q.perSecond != nil {
		l.PerSecond = *q.perSecond
	}
	if q.burst != nil {
		l.Burst = *q.burst
	}
	if q.perDay != nil {
		l.PerDay = *q.perDay
	}
	return l
}

// effective reports a limit without effect, and one that counts the same calls
// as an earlier one: their counts would be one.
func (r *reader) effective(path string, list []models.Limit) {
	for i, l := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case l.PerSecond == 0 && l.PerDay == 0:
			r.problem(Join(at, "perSecond"), "use a number above 0 here or in perDay")
		case l.PerSecond == 0 && l.Burst > 0:
			r.problem(Join(at, "burst"), "a burst needs perSecond")
		}
		for j, other := range list[:i] {
			if other.Per == l.Per && other.Match == l.Match {
				r.problem(Join(at, "match"), fmt.Sprintf("%s[%d] has the same per and match: combine them", path, j))
			}
		}
	}
}
