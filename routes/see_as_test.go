package routes_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access/groups"
)

// listedTool matches the name of a tool on the page "See as".
var listedTool = regexp.MustCompile(`<strong class="small mono break">(.*?)</strong>`)

// TestSeeAs lists and searches the tools of a project as the holders of grants.
func TestSeeAs(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"other":{"authMode":"api_key"}}}`)
	_, ann := a.Join(t, "ann@example.com", "Ann", models.RoleMember)
	_, bob := a.Join(t, "bob@example.com", "Bob", models.RoleMember)
	days := a.Toolset(t, "p", models.Toolset{Slug: "days", Include: models.StringList{"clock__days_between"}})
	times := a.Toolset(t, "p", models.Toolset{Slug: "times", Include: models.StringList{"clock__convert_time"}})
	theirs := a.Toolset(t, "other", models.Toolset{Slug: "theirs", Include: models.StringList{"*"}})
	name := "Engineering"
	group, err := a.Services.Groups.Create(t.Context(), groups.Fields{Name: &name})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	check(a.Services.Groups.AddMember(t.Context(), group.ID, ann))
	grant := func(slug string, kind models.SubjectKind, subject, toolset string) string {
		return a.Grant(t, slug, models.ProjectGrant{SubjectKind: kind, SubjectID: subject, ToolsetID: toolset, Role: models.GrantUse})
	}
	own := grant("p", models.SubjectPerson, ann, days)
	team := grant("p", models.SubjectGroup, group.ID, times)
	whole := grant("p", models.SubjectPerson, bob, "")
	elsewhere := grant("other", models.SubjectPerson, ann, theirs)
	const page = "/admin/projects/p/access/grants/"
	for _, tt := range []struct {
		name, path string
		want       string // the tools, or the status
		lacks      []string
	}{
		{"a person with a group", own, "clock__convert_time clock__days_between", []string{"current_time", "add_to_date"}},
		{"a group", team, "clock__convert_time", []string{"days_between", "current_time"}},
		{"a person with everything", whole, "clock__add_to_date clock__calendar_info clock__convert_time clock__current_time clock__days_between", nil},
		{"a search", own + "?task=" + url.QueryEscape("days between two dates, current time"), "clock__convert_time clock__days_between", []string{"clock__current_time", "add_to_date"}},
		{"a search for what the group lacks", team + "?task=" + url.QueryEscape("count the days between two dates"), "clock__convert_time", []string{"days_between"}},
		{"a grant of another project", elsewhere, "404", nil},
		{"an unknown grant", "unknown", "404", nil},
	} {
		status, body, _ := a.Send(t, page+tt.path, nil)
		body = strings.ReplaceAll(body, "<wbr>", "")
		got := "404"
		if status == 200 {
			var names []string
			for _, found := range listedTool.FindAllStringSubmatch(body, -1) {
				names = append(names, found[1])
			}
			slices.Sort(names)
			got = strings.Join(names, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %d %s, want %s", tt.name, status, got, tt.want)
		}
		for _, tool := range tt.lacks {
			if strings.Contains(body, tool) && !strings.Contains(tt.path, tool) {
				t.Errorf("%s: the page has %s", tt.name, tool)
			}
		}
	}
	check(a.Services.People.Disable(t.Context(), bob))
	if status, body, _ := a.Send(t, page+whole, nil); status != 200 || listedTool.MatchString(body) || !strings.Contains(body, "They see no tool") {
		t.Errorf("a disabled person: %d %s", status, listedTool.FindString(body))
	}
}
