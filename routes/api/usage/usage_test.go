package usage_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/activity"
	"mcpgateway/services/upstream/upstreamtest"
)

const own = `{"projects":{
	"p":{"authMode":"api_key","mcpServers":{"up":{"url":"URL"}},"toolsets":{"small":{"include":["up__a"]},"hidden":{"include":["up__a"],"toolExposure":"builtin"}}},
	"other":{"authMode":"none"}
}}`

func newApp(t *testing.T, dsn string) *routestest.App {
	t.Helper()
	tool := func(name, description string) upstreamtest.Tool {
		return upstreamtest.Tool{Definition: `{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}`}
	}
	up := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{tool("a", "short"), tool("b", strings.Repeat("ä", 4_000))}})
	a := routestest.New(t, dsn)
	a.Apply(t, strings.Replace(own, "URL", up.Start(t), 1))
	a.Sync(t, "p", "up")
	return a
}

func get(t *testing.T, a *routestest.App, path string) (int, string, http.Header) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Host = "127.0.0.1:8080"
	req.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
	resp, err := a.Test(req, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer), resp.Header
}

type numbers struct{ Calls, Failed, RequestBytes, ResponseBytes int }

type report struct {
	Context struct {
		Tokens, Characters int
		Full               struct{ Tokens int }
		Builtin            struct{ Tokens, SavesTokens int }
		Servers            []struct {
			Alias  string
			Tools  int
			Tokens int
		}
		Tools    []struct{ Name string }
		Toolsets []struct {
			Slug                       string
			Tools, Tokens, SavesTokens int
		}
	}
	Totals numbers
	Days   []struct {
		Day string
		numbers
	}
	Tools, Keys, People, Toolsets []struct {
		ID, Name string
		numbers
	}
}

func TestUsage(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := newApp(t, dsn)
		user := a.Person(t, "Ada")
		keyID, _ := a.Key(t, "p", 0)
		var stored models.Project
		if err := a.Services.DB.First(&stored, "slug = ?", "p").Error; err != nil {
			t.Fatal(err)
		}
		today := time.Now().UTC().Format(activity.UsageDayFormat)
		for _, row := range []models.UsageDay{
			{Principal: "key:" + keyID, Tool: "up__a", Server: "up", Calls: 5, Failed: 1, RequestBytes: 50, ResponseBytes: 500},
			{Principal: "user:" + user, UserID: user, Tool: "up__b", Server: "up", Toolset: "small", Calls: 2},
		} {
			row.ProjectID, row.Day = stored.ID, today
			if err := a.Services.DB.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		status, answer, _ := get(t, a, "/api/projects/p/usage?days=2")
		var got report
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, answer, err)
		}
		c := got.Context
		if c.Tokens != c.Full.Tokens || c.Full.Tokens < 1_000 || c.Full.Tokens > 2_000 || c.Builtin.Tokens+c.Builtin.SavesTokens != c.Full.Tokens || c.Builtin.SavesTokens < 1_000 {
			t.Errorf("context %+v", c)
		}
		if len(c.Servers) != 1 || c.Servers[0].Tools != 2 || len(c.Tools) != 2 || len(c.Toolsets) != 2 || c.Toolsets[0].Tokens != c.Builtin.Tokens || c.Toolsets[1].Tools != 1 || c.Toolsets[1].SavesTokens < 900 {
			t.Errorf("context %+v", c)
		}
		if (got.Totals != numbers{7, 1, 50, 500}) || len(got.Days) != 2 || got.Days[1].Day != today || got.Days[1].Calls != 7 {
			t.Errorf("totals %+v, days %+v", got.Totals, got.Days)
		}
		if len(got.Keys) != 1 || got.Keys[0].ID != "key:"+keyID || got.Keys[0].Calls != 5 || len(got.People) != 1 || !strings.HasPrefix(got.People[0].Name, "Ada") || len(got.Tools) != 2 || got.Toolsets[0].Calls != 5 {
			t.Errorf("keys %+v, people %+v, tools %+v, toolsets %+v", got.Keys, got.People, got.Tools, got.Toolsets)
		}
		if status, answer, _ := get(t, a, "/api/projects/other/usage"); status != http.StatusOK || strings.Contains(answer, "up__a") {
			t.Errorf("other project: %d %s", status, answer)
		}
		status, file, header := get(t, a, "/api/projects/p/usage?format=csv")
		if status != http.StatusOK || header.Get("Content-Disposition") != `attachment; filename="usage-p.csv"` || strings.Count(file, "\r\n") != 3 || !strings.Contains(file, today+",up,up__b,Ada") {
			t.Errorf("%d %v %s", status, header, file)
		}
	})
}

func TestUsageParameters(t *testing.T) {
	a := newApp(t, modelstest.SQLite(t))
	for query, want := range map[string]int{
		"": 200, "days=1": 200, "days=366": 200, "days=0": 400, "days=367": 400, "days=x": 400, "from=2026-03-01&to=2026-03-02": 200, "from=2026-03-02&to=2026-03-01": 400,
		"from=2026-03-01": 400, "days=1&from=2026-03-01&to=2026-03-02": 400, "format=xml": 400, "other=1": 400,
	} {
		if status, answer, _ := get(t, a, "/api/projects/p/usage?"+query); status != want {
			t.Errorf("%s: %d %s, want %d", query, status, answer, want)
		}
	}
	if status, _, _ := get(t, a, "/api/projects/none/usage"); status != http.StatusNotFound {
		t.Errorf("unknown project: %d", status)
	}
}

// TestCallsAreCounted checks that the log stores the toolset of a call and counts it.
func TestCallsAreCounted(t *testing.T) {
	a := newApp(t, modelstest.SQLite(t))
	base := a.Serve(t)
	_, key := a.Key(t, "p", 0)
	c := (&routestest.Client{Endpoint: base + "/v1/mcp/p/toolsets/small/request", Token: key, Version: "2025-11-25"}).Open(t)
	if _, err := c.Call(t.Context(), "up__a", "{}"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, answer, _ := get(t, a, "/api/projects/p/usage?days=1")
		var got report
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Toolsets) == 1 && got.Toolsets[0].Name == "small" && got.Totals.Calls == 1 && got.Tools[0].Name == "up__a" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("usage %s", answer)
		}
		<-time.After(50 * time.Millisecond)
	}
}
