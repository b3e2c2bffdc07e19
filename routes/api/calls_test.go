package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

type callList struct {
	Items []struct {
		ID, ProjectSlug, Principal, Tool, Server, Outcome, Code, RequestID string
		At                                                                 time.Time
		DurationMS                                                         float64
		RequestBytes, ResponseBytes                                        int64
	}
	Count      int
	NextCursor *string
}

// called calls tools of a project and waits until the calls are in the log.
func called(t *testing.T, a *app) (keyID string) {
	t.Helper()
	a.project(t, "p", "api_key", "")
	a.project(t, "q", "none", "")
	id, key := a.Key(t, "p", 0)
	a.callEcho(t, "p", key, "up__echo")
	a.rpc(t, "p", key, "tools/call", `{"name":"up__echo","arguments":{}}`)
	a.callEcho(t, "p", key, "up__missing")
	a.callEcho(t, "q", "", "up__echo")
	routestest.Eventually(t, "calls are in the log", func() bool {
		var list callList
		a.admin(t, "GET", "/api/calls", "", 200, &list)
		return list.Count == 4
	})
	return id
}

func TestListCalls(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		began := time.Now().Add(-time.Second)
		keyID := called(t, a)
		for query, want := range map[string]string{
			"":                            "q up__echo ok|p up__missing error|p up__echo error|p up__echo ok|",
			"?project=p":                  "p up__missing error|p up__echo error|p up__echo ok|",
			"?project=p&outcome=ok":       "p up__echo ok|",
			"?tool=up__missing":           "p up__missing error|",
			"?server=up&project=q":        "q up__echo ok|",
			"?principal=anonymous":        "q up__echo ok|",
			"?principal=key:" + keyID:     "p up__missing error|p up__echo error|p up__echo ok|",
			"?outcome=cancelled":          "",
			"?since=2999-01-01T00:00:00Z": "",
			"?until=2001-01-01T00:00:00Z": "",
		} {
			var list callList
			a.admin(t, "GET", "/api/calls"+query, "", 200, &list)
			got := ""
			for _, c := range list.Items {
				got += c.ProjectSlug + " " + c.Tool + " " + c.Outcome + "|"
			}
			if got != want || list.Count != len(list.Items) || list.NextCursor != nil {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
		var list callList
		a.admin(t, "GET", "/api/calls?project=p", "", 200, &list)
		missing, ok := list.Items[0], list.Items[2]
		if missing.Code != "TOOL_NOT_FOUND" || missing.Server != "" || ok.Code != "" || ok.Server != "up" || ok.Principal != "key:"+keyID {
			t.Errorf("%+v\n%+v", missing, ok)
		}
		if ok.DurationMS <= 0 || ok.RequestBytes <= 0 || ok.ResponseBytes <= 0 || ok.RequestID == "" || ok.At.Before(began) || ok.At.After(time.Now()) {
			t.Errorf("%+v", ok)
		}
	})
}

func TestCallPages(t *testing.T) {
	a := onSQLite(t)
	called(t, a)
	tools, cursor := "", ""
	for range 4 {
		var list callList
		a.admin(t, "GET", "/api/calls?limit=1&cursor="+url.QueryEscape(cursor), "", 200, &list)
		tools += list.Items[0].ProjectSlug + list.Items[0].Tool + " "
		if (list.NextCursor == nil) != (strings.Count(tools, " ") == 4) {
			t.Fatalf("after %s: cursor %v", tools, list.NextCursor)
		}
		if list.NextCursor == nil {
			break
		}
		cursor = *list.NextCursor
	}
	if tools != "qup__echo pup__missing pup__echo pup__echo " {
		t.Errorf("pages = %s", tools)
	}
	for _, query := range []string{"?cursor=nonsense", "?limit=1&project=p&cursor=" + url.QueryEscape(cursor), "?outcome=ok&cursor=" + url.QueryEscape(cursor)} {
		webtest.Check(t, webtest.Case{WantBody: []string{`"code":"INVALID_CURSOR"`, `"restart":true`}}, a.admin(t, "GET", "/api/calls"+query, "", 400, nil))
	}
}

func TestInvalidCallQueriesAreRejected(t *testing.T) {
	a := onSQLite(t)
	for query, why := range map[string]string{
		"?projekt=p": "projekt", "?outcome=fine": "outcome", "?since=yesterday": "since", "?until=1": "until", "?format=xml": "format",
		"?limit=0": "1 to 1000", "?limit=1001": "1 to 1000", "?tool=%ff": "tool", "?format=csv&limit=1": "since, until", "?format=jsonl&cursor=x": "since, until",
		"?after=1": "format=csv", "?format=json&after=1": "format=csv", "?format=csv&after=x": "last line",
	} {
		webtest.Check(t, webtest.Case{WantBody: []string{why}}, a.admin(t, "GET", "/api/calls"+query, "", 400, nil))
	}
	a.admin(t, "GET", "/api/calls?project=unknown", "", 404, nil)
	for _, limit := range []string{"1", "999", "1000"} {
		a.admin(t, "GET", "/api/calls?limit="+limit, "", 200, nil)
	}
}

func TestCallsCSV(t *testing.T) {
	a := onSQLite(t)
	called(t, a)
	row := models.Call{ID: "ffffffff-ffff-7fff-8fff-ffffffffffff", At: time.Now().UTC(), ProjectID: "gone", Tool: `=HYPERLINK("http://evil")`, Outcome: models.CallFailed, RequestID: "r"}
	if err := a.Services.DB.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]webtest.Case{
		"by the parameter":                   {Path: "/api/calls?format=csv"},
		"by the header":                      {Path: "/api/calls", Header: map[string]string{"Accept": "text/csv"}},
		"by the parameter before the header": {Path: "/api/calls?format=csv", Header: map[string]string{"Accept": "application/json"}},
	} {
		if c.Header == nil {
			c.Header = map[string]string{}
		}
		c.Header["Authorization"] = "Bearer " + routestest.AdminToken
		answer := webtest.Send(t, a.App.App, c)
		webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{
			"Content-Type": "text/csv; charset=utf-8; header=present", "Content-Disposition": `attachment; filename="calls.csv"`, "Cache-Control": "no-store",
		}}, answer)
		rows, err := csv.NewReader(strings.NewReader(answer.Body)).ReadAll()
		if err != nil || len(rows) != 7 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		if rows[5][3] != `'=HYPERLINK("http://evil")` || rows[5][1] != "" || rows[4][1] != "q" || rows[3][3] != "up__missing" || strings.Join(rows[6][:3], ",") != "# complete,5,"+row.ID {
			t.Errorf("%s: %q", name, rows[3:])
		}
		if c.Path == "/api/calls" {
			continue
		}
		c.Path += "&after=" + rows[3][11]
		if rest := webtest.Send(t, a.App.App, c).Body; rest != lines(answer.Body, 0)+lines(answer.Body, 4)+lines(answer.Body, 5)+"# complete,2,"+row.ID+",,,,,,,,,\r\n" {
			t.Errorf("%s: rest %q", name, rest)
		}
	}
	list := webtest.Send(t, a.App.App, webtest.Case{Path: "/api/calls?format=json", Header: map[string]string{"Accept": "text/csv", "Authorization": "Bearer " + routestest.AdminToken}})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"nextCursor":null`}}, list)
}

// lines returns a line of a file.
func lines(text string, n int) string { return strings.SplitAfter(text, "\n")[n] }

func TestCallsAsJSONLines(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		called(t, a)
		for _, c := range []webtest.Case{{Path: "/api/calls?format=jsonl&project=p"}, {Path: "/api/calls?project=p", Header: map[string]string{"Accept": "application/x-ndjson"}}} {
			if c.Header == nil {
				c.Header = map[string]string{}
			}
			c.Header["Authorization"] = "Bearer " + routestest.AdminToken
			answer := webtest.Send(t, a.App.App, c)
			webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{"Content-Type": "application/x-ndjson", "Content-Disposition": `attachment; filename="calls.jsonl"`}}, answer)
			var last struct{ ID string }
			if err := json.Unmarshal([]byte(lines(answer.Body, 2)), &last); err != nil || strings.Count(answer.Body, "\n") != 4 {
				t.Fatalf("%v in %s", err, answer.Body)
			}
			if want := fmt.Sprintf(`{"complete":true,"rows":3,"last":%q}`+"\n", last.ID); lines(answer.Body, 3) != want {
				t.Errorf("last line %s, want %s", lines(answer.Body, 3), want)
			}
		}
	})
}

func TestCallsMatchOpenAPI(t *testing.T) {
	a := onSQLite(t)
	called(t, a)
	d := readOpenAPI(t, a)
	operation := d.Paths["/api/calls"]["get"]
	d.validate(t, "the list", operation.Responses["200"].Content["application/json"].Schema, []byte(a.admin(t, "GET", "/api/calls?limit=2", "", 200, nil).Body))
	var named []string
	for _, p := range operation.Parameters {
		name := p.Name
		if name == "" {
			name = p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]
		}
		named = append(named, name)
		if answer := a.send(t, "GET", "/api/calls?"+name+"=", routestest.AdminToken, ""); answer.Status != 200 {
			t.Errorf("empty %s rejected: %s", name, answer.Body)
		}
	}
	answer := a.admin(t, "GET", "/api/calls?x=1", "", 400, nil)
	for _, name := range named {
		if !strings.Contains(answer.Body, name) {
			t.Errorf("error lacks %s: %s", name, answer.Body)
		}
	}
}

func TestMetricsShowCalls(t *testing.T) {
	a := onSQLite(t)
	called(t, a)
	answer := webtest.Send(t, a.App.App, webtest.Case{Path: "/metrics"})
	webtest.Check(t, webtest.Case{
		Status: 200, WantHeader: map[string]string{"Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"},
		WantBody: []string{
			`gateway_tool_calls_total{outcome="ok",project="p",server="up"} 1`, `gateway_tool_calls_total{outcome="error",project="p",server="up"} 1`,
			`gateway_tool_calls_total{outcome="error",project="p",server="(none)"} 1`, `gateway_upstream_up{project="p",server="up"} 1`,
			`gateway_http_requests_total{method="POST",route="/v1/mcp/:projectSlug/request",status="200"} `, `gateway_syncs_total{result="ok"} `,
			`gateway_open_streams{kind="mcp"} 0`, `gateway_open_streams{kind="pages"} 0`, `gateway_calls_lost_total 0`, "go_goroutines ",
		},
		NotBody: []string{"up__echo", "up__missing", "gwk_", a.url},
	}, answer)
	for line := range strings.Lines(answer.Body) {
		var value float64
		if line[0] == '#' {
			continue
		}
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &value); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}
