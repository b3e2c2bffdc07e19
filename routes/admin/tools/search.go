package tools

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Search serves GET …/tools/search?task=&server=&limit=&offset=&schemas= and
// ?query=&limit=&cursor=&schemas=: what the built-in search tool returns for these
// arguments.
func (a *Tools) Search(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	p := searchForm(c, project)
	p.Frame = a.pages.ProjectFrame(c, project, layout.TabTools, "Test search", layout.Crumb{Label: "Test search"})
	arguments, err := searchArguments(c, p)
	if arguments != nil && err == nil {
		p.Sent = indented(arguments)
		principal := access.Administrator(guard.UserOf(c).ID, project.Project.ID)
		var found *toolsearch.Preview
		if found, err = a.search.Preview(c.UserContext(), project, toolsearch.Caller{ID: principal.ID(), UserID: principal.UserID()}, arguments); err == nil {
			p.Result = searchResult(found, p)
		}
	}
	switch {
	case err == nil:
	case fault.From(err).Kind == fault.KindInternal:
		return err
	default:
		p.Problem = fault.From(err).Message
		c.Status(web.StatusOf(err))
	}
	return web.Render(c, views.Search(p))
}

// searchForm returns the form as it was sent.
func searchForm(c *fiber.Ctx, project *toolset.Snapshot) views.SearchProps {
	p := views.SearchProps{
		Slug: project.Project.Slug, Query: c.Context().QueryArgs().Has("query") || c.Query("mode") == "query",
		Server: c.Query("server"), Limit: c.Query("limit"), Offset: c.Query("offset"), Cursor: c.Query("cursor"), Schemas: c.Query("schemas") != "",
	}
	p.Text, p.MaxLimit = strings.TrimSpace(c.Query("task")), toolsearch.MaxTaskLimit
	if p.Query {
		p.Text, p.MaxLimit = strings.TrimSpace(c.Query("query")), page.MaxLimit
	}
	if p.Limit == "" {
		p.Limit = strconv.Itoa(toolsearch.DefaultTaskLimit)
		if p.Query {
			p.Limit = strconv.Itoa(page.DefaultLimit)
		}
	}
	for _, server := range project.Servers {
		p.Servers = append(p.Servers, server.Config.Alias)
	}
	return p
}

// searchArguments returns the arguments of the built-in tool, or nil if nothing is
// searched. It returns INVALID_PARAMETER for texts that are not numbers.
func searchArguments(c *fiber.Ctx, p views.SearchProps) ([]byte, error) {
	a := toolsearch.Arguments{IncludeSchema: p.Schemas}
	switch {
	case p.Query && c.Context().QueryArgs().Has("query"):
		a.Query, a.Cursor = &p.Text, p.Cursor
	case !p.Query && p.Text != "":
		a.Task, a.Server = p.Text, p.Server
		if p.Offset != "" && p.Offset != "0" {
			offset, err := strconv.Atoi(p.Offset)
			if err != nil {
				return nil, fault.Invalid("Enter the number of results to skip.")
			}
			a.Offset = &offset
		}
	default:
		return nil, nil
	}
	if c.Query("limit") != "" {
		limit, err := strconv.Atoi(p.Limit)
		if err != nil {
			return nil, fault.Invalid("Enter the number of results.")
		}
		a.Limit = &limit
	}
	return a.JSON(), nil
}

// searchResult converts a preview for its page.
func searchResult(found *toolsearch.Preview, p views.SearchProps) *views.SearchResult {
	r := &views.SearchResult{
		Total: found.Total, More: found.NextCursor != "", Tokens: typescript.SizeInTokens(string(found.Response)), ByMeaning: found.ByMeaning,
		Response: indented(found.Response),
	}
	for i, f := range found.Found {
		row := views.FoundTool{Rank: i + 1, Name: f.Tool.FullName, Listed: f.Tool.Name, Score: f.Score}
		if !p.Query {
			offset, _ := strconv.Atoi(p.Offset) // valid: the tools were found with it
			row.Rank += offset
		}
		if best := found.Found[0].Score; best > 0 {
			row.Share = f.Score / best
		}
		for _, reason := range f.Reasons {
			row.Reasons = append(row.Reasons, views.Reason{Word: reason.Word, Found: reason.Found, Field: reason.Field})
		}
		r.Rows = append(r.Rows, row)
	}
	for _, t := range found.Hidden {
		if t.Hidden == toolset.HiddenByApproval {
			r.Waiting++
		} else {
			r.Off++
		}
	}
	for _, w := range found.Warnings {
		r.Warnings = append(r.Warnings, views.SearchWarning{Code: w.Code, Message: w.Message})
	}
	for _, u := range found.Unavailable {
		r.Unavailable = append(r.Unavailable, u.Server+": "+u.Reason)
	}
	if p.Cursor != "" || p.Offset != "" && p.Offset != "0" {
		r.First = searchPage(p, "", "")
	}
	switch {
	case found.NextCursor != "":
		r.Next = searchPage(p, "cursor", found.NextCursor)
	case found.NextOffset > 0:
		r.Next = searchPage(p, "offset", strconv.Itoa(found.NextOffset))
	}
	return r
}

// searchPage returns the address of a page of a search by its position, which is
// empty for the first one.
func searchPage(p views.SearchProps, position, value string) string {
	q := url.Values{"limit": {p.Limit}}
	if position != "" {
		q.Set(position, value)
	}
	if p.Query {
		q.Set("query", p.Text)
	} else {
		q.Set("task", p.Text)
		if p.Server != "" {
			q.Set("server", p.Server)
		}
	}
	if p.Schemas {
		q.Set("schemas", "on")
	}
	return paths.ToolSearch(p.Slug) + "?" + q.Encode()
}
