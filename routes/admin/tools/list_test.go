package tools_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/admin/tools"
)

// desk are tools of two servers. Those of held require approvals.
func desk() map[string][]string {
	return map[string][]string{
		"git": {
			definition("list_issues", "Lists issues.", `"readOnlyHint":true`), definition("close_issue", "Closes an issue.", `"destructiveHint":false`),
			definition("drop_branch", "Drops a branch.", `"destructiveHint":true`), definition("unused", "Nothing.", ""),
		},
		"held": {definition("read_page", "Reads a page.", `"readOnlyHint":true`), definition("write_page", "Writes a page.", "")},
	}
}

func TestListSorts(t *testing.T) {
	w := newWorld(t, desk())
	const day = 24 * time.Hour
	w.called(t, "git__drop_branch", 1, time.Minute)
	w.called(t, "git__list_issues", 3, day)
	w.called(t, "git__close_issue", 5, 8*day) // used, but not in the last 7 days
	for _, tt := range []struct{ sort, want, heading string }{
		{"", "git__list_issues, git__drop_branch, git__close_issue, git__unused", "descending Calls, 7 d"},
		{"-calls", "git__close_issue, git__unused, git__drop_branch, git__list_issues", "ascending Calls, 7 d"},
		{"name", "git__close_issue, git__drop_branch, git__list_issues, git__unused", "ascending Tool"},
		{"-name", "git__unused, git__list_issues, git__drop_branch, git__close_issue", "descending Tool"},
		{"used", "git__drop_branch, git__list_issues, git__close_issue, git__unused", "descending Last used"},
		{"access", "git__list_issues, git__close_issue, git__unused, git__drop_branch", "ascending Access"},
		{"state", "git__close_issue, git__drop_branch, git__list_issues, git__unused", "ascending State"},
		{"nothing", "git__list_issues, git__drop_branch, git__close_issue, git__unused", "descending Calls, 7 d"},
	} {
		body := w.get(t, query("server", "git", "sort", tt.sort))
		if got := all(rowTicks, body); got != tt.want {
			t.Errorf("sort %q: %s, want %s", tt.sort, got, tt.want)
		}
		found := sorted.FindAllStringSubmatch(body, -1)
		if len(found) != 1 || found[0][1]+" "+strings.TrimSpace(found[0][3]) != tt.heading {
			t.Errorf("sort %q: headings %q, want %q", tt.sort, found, tt.heading)
		}
	}
	if body := w.get(t, query("server", "git")); !strings.Contains(body, "sort=-calls") || !strings.Contains(body, "sort=name") {
		t.Error("headings lack the links that sort")
	}
}

func TestListFilters(t *testing.T) {
	w := newWorld(t, desk())
	w.called(t, "git__list_issues", 1, time.Hour)
	w.called(t, "git__close_issue", 1, 31*24*time.Hour)
	if got, want := all(chips, w.get(t, list)), "All 6, To approve 2, On 4, Unused 30 d 3, git 4, held 2"; got != want {
		t.Errorf("chips %q, want %q", got, want)
	}
	for _, tt := range []struct{ url, rows, chips string }{
		{query("query", "access:read"), "held__read_page, git__list_issues", "All 2, To approve 1, On 1, git 1, held 1"},
		{query("query", "access:destructive state:on"), "git__drop_branch", "All 1, On 1, Unused 30 d 1"},
		{query("show", "approve"), "held__read_page, held__write_page", "All 6, To approve 2, On 4, Unused 30 d 3"},
		{query("show", "unused"), "git__close_issue, git__drop_branch, git__unused", "All 6, To approve 2, On 4, Unused 30 d 3"},
		{query("server", "held"), "held__read_page, held__write_page", "All 2, To approve 2, git 4, held 2"},
		{query("view", "flat", "sort", "name"), "git__close_issue, git__drop_branch, git__list_issues, git__unused, held__read_page, held__write_page", ""},
		{query("closed", "held"), "git__list_issues, git__close_issue, git__drop_branch, git__unused", ""},
		{query("query", "nothing-such"), "", "All 0"},
	} {
		body := w.get(t, tt.url)
		if got := all(rowTicks, body); got != tt.rows {
			t.Errorf("%s: rows %s, want %s", tt.url, got, tt.rows)
		}
		if got := all(chips, body); tt.chips != "" && got != tt.chips {
			t.Errorf("%s: chips %s, want %s", tt.url, got, tt.chips)
		}
	}
	status, body, _ := w.Send(t, query("query", "access:all"), nil)
	if status != http.StatusBadRequest || !strings.Contains(body, "access is one of read, write, destructive") || all(rowTicks, body) != "" {
		t.Errorf("invalid query: status %d", status)
	}
}

func TestListGroups(t *testing.T) {
	w := newWorld(t, map[string][]string{"small": plain(tools.RowsPerGroup + 2), "large": plain(tools.RowsPerGroup + 3), "held": plain(1)})
	w.called(t, "small__tool_001", 2, time.Hour)
	body := w.get(t, list)
	if got, want := all(serverTicks, body), "held, small, large"; got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
	if got := strings.Count(all(rowTicks, body), "small__"); got != tools.RowsPerGroup+2 {
		t.Errorf("%d rows of a small group", got)
	}
	if got := strings.Count(all(rowTicks, body), "large__"); got != tools.RowsPerGroup || !strings.Contains(body, "3 more tools of large") {
		t.Errorf("%d rows of a large group", got)
	}
	for _, want := range []string{"16 tools · 15 on · 1 to approve", "Approve all 1", "1 tool · 1 waiting for approval", "7 tools · 7 on", "Turn all off", "gateway_searchMcpForTask"} {
		if !strings.Contains(strings.ReplaceAll(body, "<wbr>", ""), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if got := all(shownRows, body); got != "16 tools of 3 servers" {
		t.Errorf("pager %q", got)
	}
	if body := w.get(t, query("sort", "name")); all(serverTicks, body) != "held, large, small" {
		t.Errorf("groups by name: %s", all(serverTicks, body))
	}
}

func TestListPages(t *testing.T) {
	w := newWorld(t, map[string][]string{"a": plain(tools.ToolsPerPage - 1), "b": plain(tools.ToolsPerPage), "c": plain(tools.ToolsPerPage + 1)})
	for _, tt := range []struct {
		url, shown string
		rows       int
		last       string
	}{
		{query("server", "a"), "1–49 of 49 tools", 49, "tool_048"},
		{query("server", "b"), "1–50 of 50 tools", 50, "tool_049"},
		{query("server", "c"), "1–50 of 51 tools", 50, "tool_049"},
		{query("server", "c", "page", "2"), "51–51 of 51 tools", 1, "tool_050"},
		{query("server", "c", "page", "3"), "51–51 of 51 tools", 1, "tool_050"},
		{query("server", "c", "page", "0"), "1–50 of 51 tools", 50, "tool_049"},
		{query("view", "flat"), "1–50 of 150 tools", 50, ""},
		{query("view", "flat", "page", "3"), "101–150 of 150 tools", 50, ""},
	} {
		body := w.get(t, tt.url)
		rows := strings.Split(all(rowTicks, body), ", ")
		if got := all(shownRows, body); got != tt.shown || len(rows) != tt.rows || tt.last != "" && !strings.HasSuffix(rows[len(rows)-1], tt.last) {
			t.Errorf("%s: %q, %d rows to %s", tt.url, got, len(rows), rows[len(rows)-1])
		}
	}
}

func TestListDensity(t *testing.T) {
	w := newWorld(t, desk())
	if body := w.get(t, list); !strings.Contains(body, `data-density="compact"`) || !strings.Contains(body, "density=cosy") {
		t.Error("list is not compact at first")
	}
	if status, _, to := w.Send(t, query("density", "cosy", "show", "on"), nil); status != http.StatusSeeOther || to != query("show", "on") {
		t.Errorf("status %d to %s", status, to)
	}
}
