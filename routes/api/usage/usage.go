// Package usage serves the usage of a project: what its tool list costs in the
// context of clients, and the calls of a period.
package usage

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/contextcost"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Store reads the numbers. Implemented by usage.Store.
type Store interface {
	Report(ctx context.Context, projectID string, p usage.Period) (*usage.Report, error)
	ExportCSV(projectID string, p usage.Period, names usage.Names) *usage.Export
}

// Directory returns the current snapshots of projects.
type Directory interface {
	Project(slug string) (*toolset.Snapshot, error)
}

// Options are the dependencies of Usage. All are required.
type Options struct {
	Store     Store
	Directory Directory
	Builtins  contextcost.Builtins
	Names     func() usage.Names // for one response
	Now       func() time.Time
}

// Usage serves the API.
type Usage struct{ Options }

// New returns the handler.
func New(o Options) *Usage { return &Usage{o} }

// DefaultDays is the number of days of a period unless the request has another.
const DefaultDays = 30

// parameters are the query parameters.
var parameters = []string{"days", "from", "to", "format"}

// Show serves GET /api/projects/:projectSlug/usage, as JSON or as a CSV file.
func (u *Usage) Show(c *fiber.Ctx) error {
	for name := range c.Request().URI().QueryArgs().All() {
		if !slices.Contains(parameters, string(name)) {
			return fault.Invalid("Unknown parameter %.64q. Use %s.", name, strings.Join(parameters, ", "))
		}
	}
	project, err := u.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	period, err := PeriodOf(c, u.Now())
	if err != nil {
		return err
	}
	switch c.Query("format") {
	case "csv":
		return Download(c, u.Store.ExportCSV(project.Project.ID, period, u.Names()), project.Project.Slug)
	case "", "json":
	default:
		return fault.Invalid("format must be json or csv.")
	}
	report, err := u.Store.Report(c.UserContext(), project.Project.ID, period)
	if err != nil {
		return err
	}
	return c.JSON(u.answer(c.UserContext(), project, period, report))
}

// PeriodOf returns the period of a request: the days from and to, or the last
// days. It returns INVALID_PARAMETER for other values.
func PeriodOf(c *fiber.Ctx, now time.Time) (usage.Period, error) {
	from, to, days := c.Query("from"), c.Query("to"), c.Query("days")
	if from != "" || to != "" {
		if days != "" {
			return usage.Period{}, fault.New(fault.KindInvalid, fault.CodeConflictingParameters, "Use either days, or from and to.")
		}
		return usage.Between(from, to)
	}
	n := DefaultDays
	if days != "" {
		var err error
		if n, err = strconv.Atoi(days); err != nil || n < 1 || n > usage.MaxDays {
			return usage.Period{}, fault.Invalid("days must be an integer from 1 to %d.", usage.MaxDays)
		}
	}
	return usage.LastDays(n, now), nil
}

// Download responds with a file of numbers. Its first part is created before the
// response starts, so that a failure can still be returned.
func Download(c *fiber.Ctx, export *usage.Export, slug string) error {
	return web.SendFile(c, "text/csv; charset=utf-8; header=present", "usage-"+slug+".csv", export)
}

// cost is a number of characters, and the tokens that they are about.
type cost struct {
	Characters int `json:"characters"`
	Tokens     int `json:"tokens"`
}

func costOf(characters int) cost { return cost{characters, contextcost.Tokens(characters)} }

// alternative is another list than that of the exposure full.
type alternative struct {
	cost
	Saves int `json:"savesTokens"` // negative if it costs more
}

func alternativeOf(full, characters int) alternative {
	return alternative{costOf(characters), contextcost.Tokens(full) - contextcost.Tokens(characters)}
}

type toolCost struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	cost
}

type serverCost struct {
	Alias string `json:"alias"`
	Tools int    `json:"tools"`
	cost
}

type toolsetCost struct {
	Slug  string `json:"slug"`
	Name  string `json:"name"`
	Tools int    `json:"tools"`
	alternative
}

type contextAnswer struct {
	Exposure models.ToolExposure `json:"toolExposure"`
	cost
	Full     cost          `json:"full"`
	Builtin  alternative   `json:"builtin"`
	Servers  []serverCost  `json:"servers"`
	Tools    []toolCost    `json:"tools"`
	Toolsets []toolsetCost `json:"toolsets"`
}

type row struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	usage.Numbers
}

type day struct {
	Day string `json:"day"`
	usage.Numbers
}

type answer struct {
	ProjectSlug string        `json:"projectSlug"`
	From        string        `json:"from"`
	To          string        `json:"to"`
	Context     contextAnswer `json:"context"`
	Totals      usage.Numbers `json:"totals"`
	Days        []day         `json:"days"`
	Tools       []row         `json:"tools"`
	Keys        []row         `json:"keys"`
	People      []row         `json:"people"`
	Toolsets    []row         `json:"toolsets"`
	Truncated   bool          `json:"truncated"`
}

func (u *Usage) answer(ctx context.Context, project *toolset.Snapshot, p usage.Period, r *usage.Report) answer {
	names := u.Names()
	a := answer{
		ProjectSlug: project.Project.Slug, From: p.First(), To: p.Last(), Context: contextOf(contextcost.Of(project, u.Builtins)), Totals: r.Totals,
		Days: []day{}, Tools: []row{}, Keys: []row{}, People: []row{}, Toolsets: []row{}, Truncated: r.Cut,
	}
	for _, d := range r.Days {
		a.Days = append(a.Days, day{d.Day.Format(activity.UsageDayFormat), d.Numbers})
	}
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, row{Name: t.Name, Server: t.Server, Numbers: t.Numbers})
	}
	for _, k := range r.Keys {
		a.Keys = append(a.Keys, row{ID: k.Name, Name: names.Caller(ctx, k.Name), Numbers: k.Numbers})
	}
	for _, person := range r.People {
		a.People = append(a.People, row{ID: person.Name, Name: names.Person(ctx, person.Name), Numbers: person.Numbers})
	}
	for _, t := range r.Toolsets {
		a.Toolsets = append(a.Toolsets, row{Name: t.Name, Numbers: t.Numbers})
	}
	return a
}

func contextOf(c *contextcost.Cost) contextAnswer {
	a := contextAnswer{
		Exposure: c.Exposure, cost: costOf(c.Listed), Full: costOf(c.Full), Builtin: alternativeOf(c.Full, c.Builtin),
		Servers: []serverCost{}, Tools: []toolCost{}, Toolsets: []toolsetCost{},
	}
	for _, s := range c.Servers {
		a.Servers = append(a.Servers, serverCost{s.Alias, s.Tools, costOf(s.Characters)})
	}
	for _, t := range c.Tools {
		a.Tools = append(a.Tools, toolCost{t.Name, t.Server, costOf(t.Characters)})
	}
	for _, t := range c.Toolsets {
		a.Toolsets = append(a.Toolsets, toolsetCost{t.Slug, t.Name, t.Tools, alternativeOf(c.Full, t.Characters)})
	}
	return a
}
