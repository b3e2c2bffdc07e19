package toolsearch_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
)

func office() *toolset.Snapshot {
	return newFixture("office").
		server("mail", nil, tool("send_email", "Send an e-mail to one or more people"), tool("list_folders", "List the folders of a mailbox")).
		server("weather", nil, tool("get_forecast", "Get the weather forecast for a city"),
			`{"name":"air","title":"Air quality","description":"Pollution & ozone <index>","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`).
		snapshot()
}

func TestTaskFindsMatchingTool(t *testing.T) {
	s, project := newSearcher(t), office()
	for _, tc := range []struct{ why, task, top string }{
		{"the words of the description", "what will the weather be in Paris tomorrow?", "weather__get_forecast"},
		{"parts of a name", "forecast", "weather__get_forecast"},
		{"the whole name", "send_email", "mail__send_email"},
		{"camelCase", "listFolders", "mail__list_folders"},
		{"another form of the word", "sending mails", "mail__send_email"},
		{"a word of like meaning", "deliver a letter to my people", "mail__send_email"},
		{"a slip of the pen", "wether forcast", "weather__get_forecast"},
		{"the beginning of a word", "foreca", "weather__get_forecast"},
		{"a title", "quality of the air", "weather__air"},
		{"a parameter", "city", "weather__get_forecast"},
		{"capitals", "OZONE POLLUTION", "weather__air"},
		{"letters of another width", "ｆｏｒｅｃａｓｔ", "weather__get_forecast"},
		{"accents", "fórecàst", "weather__get_forecast"},
		{"nothing but stop words", "to one or more", "mail__send_email"},
	} {
		a := forTask(t, s, project, asTask(tc.task))
		if a.TopTool != tc.top || len(a.Candidates) == 0 || a.Candidates[0].Name != tc.top {
			t.Errorf("%s: %q found %q, want %s", tc.why, tc.task, a.names(), tc.top)
		}
		for i, c := range a.Candidates {
			if rounded, err := strconv.ParseFloat(fmt.Sprintf("%.4f", c.Score), 64); err != nil || c.Score != rounded || c.Score <= 0 {
				t.Errorf("%q: score %v is not positive with four decimals", tc.task, c.Score)
			}
			if i > 0 && c.Score > a.Candidates[i-1].Score {
				t.Errorf("%q: %v follows %v", tc.task, c.Score, a.Candidates[i-1].Score)
			}
		}
	}
}

func TestTextWithoutSpacesIsSearched(t *testing.T) {
	s := newSearcher(t)
	project := newFixture("cjk").server("a", nil, tool("one", "根据关键词搜索网页"), tool("two", "查询天气预报"), tool("three", "도시의 날씨 예보")).snapshot()
	for task, top := range map[string]string{"天气": "a__two", "搜索": "a__one", "날씨": "a__three"} {
		if a := forTask(t, s, project, asTask(task)); a.TopTool != top {
			t.Errorf("%s found %q", task, a.TopTool)
		}
	}
}

func TestTaskResultFormat(t *testing.T) {
	s, project := newSearcher(t), office()
	raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(`{"task":"ozone","limit":1}`))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"total": "1", "nextOffset": "null", "truncated": "false", "topTool": `"weather__air"`} {
		if string(fields[name]) != want {
			t.Errorf("%s is %s, want %s", name, fields[name], want)
		}
	}
	if len(fields) != 5 || !strings.Contains(string(raw), `Pollution & ozone <index>`) || strings.Contains(string(raw), "inputSchema") {
		t.Errorf("got %s", raw)
	}
	a := forTask(t, s, project, `{"task":"ozone","includeSchema":true}`)
	if got := string(a.Candidates[0].InputSchema); got != `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}` {
		t.Errorf("schema = %s", got)
	}
	raw, err = s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(`{"task":"zzzzqqqq"}`))
	if want := `{"total":0,"nextOffset":null,"truncated":false,"topTool":"","candidates":[]}`; err != nil || string(raw) != want {
		t.Errorf("got %s, %v, want %s", raw, err, want)
	}
}

func TestTaskArguments(t *testing.T) {
	s, project := newSearcher(t), office()
	ok := fault.Code("")
	word := func(s string, n int) string { return strings.Repeat(s, n) }
	for _, tc := range []struct {
		arguments string
		code      fault.Code
	}{
		{``, fault.CodeInvalidParameter},
		{`{}`, fault.CodeInvalidParameter},
		{`null`, fault.CodeInvalidParameter},
		{`[]`, fault.CodeInvalidParameter},
		{`{"task":"a","task":"b"}`, fault.CodeInvalidParameter},
		{`{"task":""}`, fault.CodeInvalidParameter},
		{`{"task":" \t\n\u3000"}`, fault.CodeInvalidParameter},
		{`{"task":null}`, fault.CodeInvalidParameter},
		{`{"task":5}`, fault.CodeInvalidParameter},
		{`{"task":["x"]}`, fault.CodeInvalidParameter},
		{`{"task":"\ud800"}`, ok}, // half of a surrogate pair is searched as U+FFFD
		{`{"task":"x"}`, ok},
		{asTask(word("x", 2047)), ok},
		{asTask(word("x", 2048)), ok},
		{asTask(word("x", 2049)), fault.CodeInvalidParameter},
		{asTask(word("é", 2048)), ok},
		{asTask(word("é", 2049)), fault.CodeInvalidParameter},
		{asTask(word("😀", 2047)), ok},
		{asTask(word("😀", 2048)), ok}, // 8,192 bytes
		{asTask(word("😀", 2047) + "ab"), fault.CodeInvalidParameter},
		{asTask(word("😀", 2048) + "a"), fault.CodeInvalidParameter},
		{`{"task":"x","server":"mail"}`, ok},
		{`{"task":"x","server":""}`, fault.CodeInvalidParameter},
		{`{"task":"x","server":5}`, fault.CodeInvalidParameter},
		{`{"task":"x","server":null}`, ok},
		{`{"task":"x","server":["mail"]}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":0}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":1}`, ok},
		{`{"task":"x","limit":2}`, ok},
		{`{"task":"x","limit":19}`, ok},
		{`{"task":"x","limit":20}`, ok},
		{`{"task":"x","limit":21}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":5.0}`, ok},
		{`{"task":"x","limit":0.5e1}`, ok},
		{`{"task":"x","limit":5.5}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":"5"}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":null,"offset":null,"query":null,"cursor":null}`, ok},
		{`{"task":"x","limit":true}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":1e400}`, fault.CodeInvalidParameter},
		{`{"task":"x","limit":-1}`, fault.CodeInvalidParameter},
		{`{"task":"x","offset":-1}`, fault.CodeInvalidParameter},
		{`{"task":"x","offset":0}`, ok},
		{`{"task":"x","offset":1}`, ok},
		{`{"task":"x","offset":9999}`, ok},
		{`{"task":"x","offset":10000}`, ok},
		{`{"task":"x","offset":10001}`, fault.CodeInvalidParameter},
		{`{"task":"x","offset":"0"}`, fault.CodeInvalidParameter},
		{`{"task":"x","includeSchema":true}`, ok},
		{`{"task":"x","includeSchema":false}`, ok},
		{`{"task":"x","includeSchema":1}`, fault.CodeInvalidParameter},
		{`{"task":"x","includeSchema":"true"}`, fault.CodeInvalidParameter},
		{`{"task":"x","includeSchema":null}`, ok},
		{`{"task":"x","Limit":5}`, fault.CodeInvalidParameter},
		{`{"task":"x","filter":"y"}`, fault.CodeInvalidParameter},
		{`{"server":"mail"}`, fault.CodeInvalidParameter},
		{`{"cursor":"x"}`, fault.CodeInvalidParameter},
		{`{"task":"x","query":"y"}`, fault.CodeConflictingParameters},
		{`{"task":"x","cursor":"y"}`, fault.CodeConflictingParameters},
		{`{"query":"x","server":"mail"}`, fault.CodeConflictingParameters},
		{`{"query":"x","offset":0}`, fault.CodeConflictingParameters},
	} {
		_, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "p"}, []byte(tc.arguments))
		f := &fault.Fault{}
		if err != nil {
			f = fault.From(err)
		}
		if f.Code != tc.code || err != nil && f.Kind != fault.KindInvalid {
			t.Errorf("%.80s: got %v (%s), want %q", tc.arguments, err, f.Code, tc.code)
		}
		if len(f.Message) > 400 {
			t.Errorf("%.80s: message has %d bytes", tc.arguments, len(f.Message))
		}
	}
}

func TestDefaults(t *testing.T) {
	f := newFixture("many")
	var tools []string
	for i := range 60 {
		tools = append(tools, tool(fmt.Sprintf("report_%02d", i), "Write a report"))
	}
	s, project := newSearcher(t), f.server("a", nil, tools...).snapshot()
	a := forTask(t, s, project, `{"task":"report"}`)
	if len(a.Candidates) != 5 || a.Total != 60 || a.NextOffset == nil || *a.NextOffset != 5 {
		t.Errorf("got %d of %d, next %v", len(a.Candidates), a.Total, a.NextOffset)
	}
	if a.names() != "a__report_00 a__report_01 a__report_02 a__report_03 a__report_04" {
		t.Errorf("equal scores are not ordered by name: %s", a.names())
	}
	if q := byQuery(t, s, project, `{"query":"report"}`); q.Count != 20 || len(q.Results) != 20 || q.NextCursor == nil {
		t.Errorf("query returned %d rows", q.Count)
	}
}

func TestOffsetsVisitEveryToolOnce(t *testing.T) {
	s := newSearcher(t)
	large := newFixture("large").server("a", nil, manyTools(5_000)...).server("b", nil, manyTools(5_000)...).server("c", nil, manyTools(50)...).snapshot()
	for _, tc := range []struct {
		project                       *toolset.Snapshot
		total, begin, end, seen, page int
	}{
		{newFixture("small").server("a", nil, manyTools(1_003)...).snapshot(), 1_003, 0, 988, 1_003, 53},
		{large, 10_050, 9_500, 10_000, 519, 28},
	} {
		seen := map[string]bool{}
		offset, pages := tc.begin, 0
		for {
			a := forTask(t, s, tc.project, fmt.Sprintf(`{"task":"report","limit":19,"offset":%d}`, offset))
			if a.Total != tc.total || a.TopTool != "a__report_00000" {
				t.Fatalf("at %d: total %d, top %s", offset, a.Total, a.TopTool)
			}
			for _, c := range a.Candidates {
				if seen[c.Name] {
					t.Fatalf("%s was listed twice", c.Name)
				}
				seen[c.Name] = true
			}
			if a.Truncated != (offset == 10_000) {
				t.Fatalf("at %d: truncated = %v", offset, a.Truncated)
			}
			pages++
			if a.NextOffset == nil {
				break
			}
			if *a.NextOffset != offset+len(a.Candidates) {
				t.Fatalf("at %d: %d rows, next %d", offset, len(a.Candidates), *a.NextOffset)
			}
			offset = *a.NextOffset
		}
		if offset != tc.end || len(seen) != tc.seen || pages != tc.page {
			t.Errorf("walk ended at %d with %d tools on %d pages", offset, len(seen), pages)
		}
	}
	for _, tc := range []struct{ offset, limit, rows, next int }{
		{9_980, 19, 19, 9_999}, {9_980, 20, 20, 10_000}, {9_981, 20, 19, 10_000}, {9_999, 20, 1, 10_000}, {10_000, 20, 20, -1},
	} {
		a := forTask(t, s, large, fmt.Sprintf(`{"task":"report","limit":%d,"offset":%d}`, tc.limit, tc.offset))
		next := -1
		if a.NextOffset != nil {
			next = *a.NextOffset
		}
		if len(a.Candidates) != tc.rows || next != tc.next {
			t.Errorf("offset %d, limit %d: %d rows, next %d", tc.offset, tc.limit, len(a.Candidates), next)
		}
	}
}

func TestLastOffsetIsNotTruncated(t *testing.T) {
	tools := make([]string, 10_005)
	for i := range tools {
		tools[i] = tool(fmt.Sprintf("report_%05d", i), "")
	}
	s, project := newSearcher(t), newFixture("edge").server("a", nil, tools...).snapshot()
	for _, tc := range []struct {
		limit     int
		rows      int
		truncated bool
	}{{4, 4, true}, {5, 5, false}, {6, 5, false}} {
		a := forTask(t, s, project, fmt.Sprintf(`{"task":"report","limit":%d,"offset":10000}`, tc.limit))
		if len(a.Candidates) != tc.rows || a.Truncated != tc.truncated || a.NextOffset != nil {
			t.Errorf("limit %d: %d rows, truncated %v, next %v", tc.limit, len(a.Candidates), a.Truncated, a.NextOffset)
		}
	}
	if a := forTask(t, s, office(), `{"task":"mail","offset":9000}`); len(a.Candidates) != 0 || a.NextOffset != nil || a.Truncated || a.TopTool == "" || a.Total == 0 {
		t.Errorf("after the last match: %+v", a)
	}
}

func TestServerMatchesExactAlias(t *testing.T) {
	s, project := newSearcher(t), office()
	a := forTask(t, s, project, `{"task":"email weather list","server":"mail"}`)
	if a.Total != 2 || a.TopTool == "" || len(a.Warnings) != 0 {
		t.Errorf("got %q %+v", a.names(), a.Warnings)
	}
	for _, c := range a.Candidates {
		if c.Server != "mail" {
			t.Errorf("%s is on %s", c.Name, c.Server)
		}
	}
	for _, alias := range []string{"Mail", "mai", "nothing", strings.Repeat("x", 5000)} {
		a := forTask(t, s, project, fmt.Sprintf(`{"task":"email","server":%q}`, alias))
		if a.Total != 0 || a.TopTool != "" || len(a.Warnings) != 1 || a.Warnings[0].Code != "SERVER_UNKNOWN" || len(a.Warnings[0].Message) > 200 {
			t.Errorf("%.20s: got %q %+v", alias, a.names(), a.Warnings)
		}
	}
}

func TestHiddenToolsAreNotFound(t *testing.T) {
	visible := []string{tool("read_page", "Read a page of the archive"), tool("count_pages", "Count pages")}
	hidden := []string{tool("drop_archive", "Delete the archive with all secrets"), tool("drop_page", "Delete a page of the archive")}
	deny := func(m *models.Server) { m.DenyTools = models.StringList{"drop_*"} }
	s := newSearcher(t)
	without := newFixture("without").server("docs", deny, visible...).snapshot()
	with := newFixture("with").server("docs", deny, append(visible, hidden...)...).snapshot()
	for _, task := range []string{"archive", "delete the archive", "read a page", "pages secrets"} {
		a, b := forTask(t, s, without, asTask(task)), forTask(t, s, with, asTask(task))
		b.Warnings = a.Warnings
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: hidden tools change %v to %v", task, a, b)
		}
	}
	if q := byQuery(t, s, with, `{"query":"drop"}`); q.Count != 0 {
		t.Errorf("query found %s", q.names())
	}
}

func TestHiddenBestMatchWarning(t *testing.T) {
	weather := tool("get_forecast", "Get the weather forecast")
	for _, tc := range []struct {
		why, reason string
		project     *toolset.Snapshot
	}{
		{"filter", "filter", newFixture("1").server("sky", func(m *models.Server) { m.DenyTools = models.StringList{"*"} }, weather).server("mail", nil, tool("send", "Send mail")).snapshot()},
		{"server", "disabled", newFixture("2").server("sky", func(m *models.Server) { m.Enabled = false }, weather).server("mail", nil, tool("send", "Send mail about weather")).snapshot()},
		{"approval", "approval", newFixture("3").server("sky", func(m *models.Server) { m.DefinitionPolicy = models.PolicyApprove }, weather).snapshot()},
	} {
		raw, err := newSearcher(t).Search(t.Context(), tc.project, toolsearch.Caller{ID: "p"}, []byte(asTask("weather forecast")))
		if err != nil {
			t.Fatal(err)
		}
		var a taskAnswer
		if err := json.Unmarshal(raw, &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Warnings) != 1 || a.Warnings[0].Code != "TOOL_HIDDEN" || !strings.Contains(a.Warnings[0].Message, "sky") || !strings.Contains(a.Warnings[0].Message, tc.reason) {
			t.Errorf("%s: got %+v", tc.why, a.Warnings)
		}
		if strings.Contains(string(raw), "get_forecast") || strings.Contains(string(raw), "Get the weather") {
			t.Errorf("%s: the result contains the tool: %s", tc.why, raw)
		}
	}
	project := newFixture("4").server("sky", func(m *models.Server) { m.DenyTools = models.StringList{"get_*"} }, weather, tool("weather_forecast", "Weather forecast")).snapshot()
	if a := forTask(t, newSearcher(t), project, asTask("weather forecast")); len(a.Warnings) != 0 || a.TopTool != "sky__weather_forecast" {
		t.Errorf("the best match is visible, but got %+v", a)
	}
}

func TestUnsearchedServersWarning(t *testing.T) {
	f := newFixture("gaps").server("fine", nil, tool("send", "Send mail")).server("new", nil).server("down", nil).server("old", nil, tool("send_all", "Send mail to all")).
		server("off", func(m *models.Server) { m.Enabled = false })
	f.source.Inventories["id-new"] = nil
	f.source.Inventories["id-down"].SyncedAt, f.source.Inventories["id-down"].ErrorMessage, f.source.Inventories["id-down"].ErrorCode = nil, "connection refused", "UPSTREAM_UNAVAILABLE"
	f.source.Inventories["id-old"].ErrorMessage, f.source.Inventories["id-old"].ErrorCode = "time-out", "UPSTREAM_TIMEOUT"
	f.source.Inventories["id-off"] = nil
	s, project := newSearcher(t), f.snapshot()
	a := forTask(t, s, project, asTask("send mail"))
	got := ""
	for _, w := range a.Warnings {
		got += w.Code + " " + w.Message + "\n"
	}
	want := "SERVER_NEVER_SYNCED The tools of server down were not searched: never synced: connection refused\n" +
		"SERVER_NEVER_SYNCED The tools of server new were not searched: never synced\n" +
		"SERVER_SYNC_FAILED The tools of server old are as of 2026-03-01 12:00 UTC, because its last sync failed: time-out\n"
	if got != want || a.Total != 2 {
		t.Errorf("got %d and\n%swant\n%s", a.Total, got, want)
	}
	if a := forTask(t, s, project, `{"task":"send mail","server":"fine"}`); len(a.Warnings) != 0 {
		t.Errorf("search with another server warns: %+v", a.Warnings)
	}
	if a := forTask(t, s, project, `{"task":"send mail","server":"off"}`); len(a.Warnings) != 1 || a.Warnings[0].Code != "SERVER_DISABLED" {
		t.Errorf("got %+v", a.Warnings)
	}
	q := byQuery(t, s, project, `{"query":"send"}`)
	raw, _ := json.Marshal(q.Coverage)
	if string(raw) != `{"kind":"partial","unavailable":[{"server":"down","reason":"never synced: connection refused"},{"server":"new","reason":"never synced"}]}` ||
		len(q.Warnings) != 1 || q.Warnings[0].Code != "SERVER_SYNC_FAILED" || q.Count != 2 {
		t.Errorf("got %s %+v", raw, q)
	}
}
