package routes_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
)

var seenTool = regexp.MustCompile(`(?s)<strong class="small mono break">(.*?)</strong>`)

// seenTools returns the names on a page of See as.
func seenTools(body string) []string {
	var names []string
	for _, found := range seenTool.FindAllStringSubmatch(body, -1) {
		names = append(names, strings.TrimSpace(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(found[1], "")))
	}
	return names
}

func TestSeeAsKey(t *testing.T) {
	a := routestest.NewAdmin(t)
	reader := a.Toolset(t, "p", models.Toolset{Slug: "reader", Name: "Reader", Include: []string{"*__current_time"}})
	rest := a.Toolset(t, "p", models.Toolset{Slug: "rest", Name: "Rest", Include: []string{"*"}, Exclude: []string{"*__current_time"}})
	_, mia := a.Join(t, "mia@example.com", "Mia", models.RoleMember)
	a.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: mia, ToolsetID: reader, Role: models.GrantUse})
	keys := map[string]string{}
	for _, name := range []string{"whole", "bound", "own", "empty"} {
		keys[name], _ = a.Key(t, "p", 0)
	}
	a.Bind(t, "p", keys["bound"], reader)
	a.Own(t, "p", keys["own"], mia)
	a.Own(t, "p", keys["empty"], mia)
	a.Bind(t, "p", keys["empty"], rest)
	see := func(key, query string) []string {
		t.Helper()
		status, body, _ := a.Send(t, "/admin/projects/p/keys/"+keys[key]+"/see-as"+query, nil)
		if status != 200 {
			t.Fatalf("%s: status %d", key, status)
		}
		return seenTools(body)
	}
	all, only := see("whole", ""), []string{"clock__current_time"}
	if len(all) < 2 || !slices.Contains(all, only[0]) {
		t.Fatalf("a key for everything sees %q", all)
	}
	for key, want := range map[string][]string{"bound": only, "own": only, "empty": nil} {
		if got := see(key, ""); !slices.Equal(got, want) {
			t.Errorf("%s sees %q", key, got)
		}
		if got := see(key, "?task=convert+a+time+between+zones"); len(got) > len(want) {
			t.Errorf("%s finds %q", key, got)
		}
	}
	if got := see("whole", "?task=convert+a+time+between+zones"); len(got) < 2 {
		t.Errorf("a key for everything finds %q", got)
	}
	if err := a.Services.DB.Model(&models.Server{}).Where("alias = ?", "clock").Update("connection", models.ConnectionPersonal).Error; err != nil {
		t.Fatal(err)
	}
	a.Toolset(t, "p", models.Toolset{Slug: "other"})
	if got := see("whole", ""); len(got) > 0 {
		t.Errorf("a key without a person sees %q of a personal server", got)
	}
	if got := see("own", ""); !slices.Equal(got, only) {
		t.Errorf("a personal key sees %q of a personal server", got)
	}
}

func TestSeeAsKeyGuards(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"q":{"authMode":"api_key","mcpServers":{}}}}`)
	key, _ := a.Key(t, "p", 0)
	if _, body, _ := a.Send(t, "/admin/projects/p/keys/"+key, nil); !strings.Contains(body, "/keys/"+key+"/see-as") {
		t.Error("page of the key has no link")
	}
	eve, _ := a.Join(t, "eve@example.com", "Eve", models.RoleViewer)
	for path, want := range map[string]int{"q/keys/" + key: 404, "p/keys/unknown": 404} {
		if status, _, _ := a.Send(t, "/admin/projects/"+path+"/see-as", nil); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
	if status, _, _ := eve.Send(t, "/admin/projects/p/keys/"+key+"/see-as", nil); status != 403 {
		t.Errorf("viewer: status %d", status)
	}
}
