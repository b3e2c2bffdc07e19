package projects

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/declaration"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/web"
)

// maxUsed is the maximum number of subjects on the page.
const maxUsed = 20

// Used returns the calls of this day that are counted against a project's
// limits. Implemented by quotas.Quotas.
type Used interface {
	Today(ctx context.Context, projectID string, max int) ([]quotas.Used, error)
}

// People returns all users. Implemented by access.Users.
type People interface {
	List(ctx context.Context) ([]access.User, error)
}

func limitsOf(row models.Project) []views.LimitForm {
	var forms []views.LimitForm
	for _, l := range row.Limits {
		forms = append(forms, views.LimitForm{
			Per: string(l.Per), Match: l.Match, PerSecond: nonZero(strconv.FormatFloat(l.PerSecond, 'f', -1, 64)),
			Burst: nonZero(strconv.FormatInt(l.Burst, 10)), PerDay: nonZero(strconv.FormatInt(l.PerDay, 10)),
		})
	}
	return forms
}

// nonZero returns a number, or "" for 0.
func nonZero(number string) string {
	if number == "0" {
		return ""
	}
	return number
}

// postedLimits returns the limits of the form without those to remove and
// without the empty row. It returns nil for a form without limits.
func postedLimits(c *fiber.Ctx) []views.LimitForm {
	if web.FormValue(c, "limits") == "" {
		return nil
	}
	forms := []views.LimitForm{}
	for i := range declaration.MaxLimits + 1 {
		value := func(name string) string { return strings.TrimSpace(web.FormValue(c, views.LimitField(i, name))) }
		l := views.LimitForm{Per: value("per"), Match: value("match"), PerSecond: value("perSecond"), Burst: value("burst"), PerDay: value("perDay")}
		if value("remove") == "" && l != (views.LimitForm{}) {
			forms = append(forms, l)
		}
	}
	return forms
}

// declaredLimits converts the limits of the form, or returns nil for a form
// without limits. Numbers that can't be read are added to wrong.
func declaredLimits(forms []views.LimitForm, wrong map[string]string) *[]models.Limit {
	if forms == nil {
		return nil
	}
	limits := make([]models.Limit, 0, len(forms))
	for i, f := range forms {
		l := models.Limit{Per: models.LimitPer(f.Per), Match: f.Match}
		if l.Match == "" {
			l.Match = "*"
		}
		if l.Per == "" {
			wrong[views.LimitField(i, "per")] = "choose what to count"
		}
		var err error
		if l.PerSecond, err = strconv.ParseFloat(or(f.PerSecond, "0"), 64); err != nil || math.IsNaN(l.PerSecond) || math.IsInf(l.PerSecond, 0) {
			wrong[views.LimitField(i, "perSecond")] = "enter a number"
		}
		if l.Burst, err = strconv.ParseInt(or(f.Burst, "0"), 10, 64); err != nil {
			wrong[views.LimitField(i, "burst")] = "enter a whole number"
		}
		if l.PerDay, err = strconv.ParseInt(or(f.PerDay, "0"), 10, 64); err != nil {
			wrong[views.LimitField(i, "perDay")] = "enter a whole number"
		}
		limits = append(limits, l)
	}
	return &limits
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// usedToday returns the calls of this day against the present limits of a project,
// most calls first.
func (a *Settings) usedToday(ctx context.Context, p *toolset.Snapshot, keys []models.Key) ([]views.UsedLimit, error) {
	if len(p.Project.Limits) == 0 {
		return nil, nil
	}
	used, err := a.used.Today(ctx, p.Project.ID, maxUsed)
	if err != nil {
		return nil, err
	}
	people := map[string]string{}
	all, err := a.people.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, person := range all {
		people[person.ID] = person.Name
	}
	for _, key := range keys {
		people["key:"+key.ID] = key.Name
	}
	var rows []views.UsedLimit
	for _, u := range used {
		for _, l := range p.Project.Limits {
			if l.Per == u.Per && l.Match == u.Match {
				rows = append(rows, views.UsedLimit{Limit: views.LimitName(string(l.Per), l.Match), Who: subjectName(p, u, people), Calls: u.Calls, PerDay: l.PerDay})
			}
		}
	}
	return rows, nil
}

// subjectName names what a limit counted.
func subjectName(p *toolset.Snapshot, u quotas.Used, names map[string]string) string {
	switch row := p.Toolsets[u.ID]; {
	case u.Per == models.PerProject:
		return "All calls"
	case u.Per == models.PerToolset && row != nil:
		return row.Name
	case names[u.ID] != "":
		return names[u.ID]
	case u.Per == models.PerTool:
		return u.ID
	default:
		return "Deleted"
	}
}
