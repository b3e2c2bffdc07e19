package tools

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// searchLimits are the numbers of results to choose from, beginning with the
// default of the tool.
var searchLimits = [...]int{5, 10, toolsearch.MaxTaskLimit}

// Search serves GET …/tools/search?task=&limit=: what the built-in search tool
// returns for a task.
func (a *Tools) Search(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	p := views.SearchProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabTools, "Test search", layout.Crumb{Label: "Test search"}), Slug: project.Project.Slug,
		Task: strings.TrimSpace(c.Query("task")),
	}
	limit := c.QueryInt("limit", searchLimits[0])
	if limit != searchLimits[0] {
		p.Limit = limit
	}
	if p.Task != "" {
		principal := access.Administrator(guard.UserOf(c).ID, project.Project.ID)
		found, err := a.search.Preview(c.UserContext(), project, toolsearch.Caller{ID: principal.ID(), UserID: principal.UserID()}, toolsearch.TaskArguments(p.Task, limit))
		switch {
		case err == nil:
			p.Result = searchResult(found)
			p.Limits = limitsOf(p.Slug, p.Task, limit)
		case fault.From(err).Kind == fault.KindInvalid:
			p.Problem = fault.From(err).Message
			c.Status(web.StatusOf(err))
		default:
			return err
		}
	}
	return web.Render(c, views.Search(p))
}

// limitsOf returns the choice of the number of results.
func limitsOf(slug, task string, limit int) []ui.SegmentItem {
	var items []ui.SegmentItem
	for _, n := range searchLimits {
		q := url.Values{"task": {task}, "limit": {strconv.Itoa(n)}}
		items = append(items, ui.SegmentItem{Label: strconv.Itoa(n) + " results", URL: paths.ToolSearch(slug) + "?" + q.Encode(), Current: n == limit})
	}
	return items
}

// searchResult converts a preview for its page.
func searchResult(found *toolsearch.Preview) *views.SearchResult {
	r := &views.SearchResult{Total: found.Total, Tokens: typescript.SizeInTokens(string(found.Response))}
	for i, f := range found.Found {
		row := views.FoundTool{Rank: i + 1, Name: f.Tool.FullName, Listed: f.Tool.Name, Score: f.Score, Share: f.Score / found.Found[0].Score}
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
	var b bytes.Buffer
	if json.Indent(&b, found.Response, "", "  ") == nil {
		r.Response = ui.Beginning(ui.Clean(b.String()), maxShownJSON)
	}
	r.Warnings = warningsOf(found.Response)
	return r
}

// warningsOf returns the messages of the warnings in a response.
func warningsOf(response []byte) []string {
	o, err := rawjson.ParseObject(response, rawjson.Lenient)
	if err != nil {
		return nil
	}
	var warnings []struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(o.Get("warnings"), &warnings) != nil {
		return nil
	}
	var messages []string
	for _, w := range warnings {
		messages = append(messages, w.Message)
	}
	return messages
}
