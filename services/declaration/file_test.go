package declaration_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

func inProject(field string) string { return `{"projects":{"p":{` + field + `}}}` }

func inServer(field string) string {
	return inProject(`"mcpServers":{"s":{"url":"https://up.example/mcp",` + field + `}}`)
}

func chars(n int) string { return quote(strings.Repeat("é", n)) }

// chars1 returns a JSON string of n bytes with characters of several bytes.
func chars1(n int) string { return quote(strings.Repeat("é", n/2) + strings.Repeat("x", n%2)) }

// pad returns a text of n bytes that starts like s.
func pad(s string, n int) string { return (s + strings.Repeat("x", max(0, n-len(s))))[:n] }

// list returns a JSON array of n different strings.
func list(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = quote("t" + strconv.Itoa(i))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// object returns a JSON object of n members.
func object(n int, name func(int) string, value string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = quote(name(i)) + ":" + value
	}
	return "{" + strings.Join(items, ",") + "}"
}

func TestFieldLimits(t *testing.T) {
	const p, s = "projects.p.", "projects.p.mcpServers.s."
	bytes := func(n int) string { return "[" + quote(strings.Repeat("x", n)) + "]" }
	for _, tc := range []struct {
		path     string
		file     func(string) string
		low, top int // minimum and maximum; low -1 means no minimum
		value    func(int) string
		problem  string // path of the problem if it isn't path
	}{
		{p + "name", inProject, -1, 100, chars, ""},
		{p + "description", inProject, -1, 2000, chars, ""},
		{p + "instructions", inProject, -1, 8192, chars1, ""},
		{p + "icon", inProject, 9, 32768, func(n int) string { return quote(pad("https://x", n)) }, ""},
		{p + "websiteUrl", inProject, 8, 2048, func(n int) string { return quote(pad("http://x", n)) }, ""},
		{p + "codeMode.timeout", inProject, 1_000, 300_000, strconv.Itoa, ""},
		{p + "rateLimit.perSecond", inProject, 0, 1_000_000, strconv.Itoa, ""},
		{p + "rateLimit.burst", inProject, 0, 1_000_000, strconv.Itoa, ""},
		{p + "limits", inProject, -1, 20, limits(func(i int) string { return fmt.Sprintf(`"match":"m%d","perDay":1`, i) }), ""},
		{p + "limits", inProject, 1, 256, limit("match", func(n int) string { return quote(strings.Repeat("x", n)) }), p + "limits[0].match"},
		{p + "limits", inProject, 1, 1_000_000, limit("perSecond", strconv.Itoa), p + "limits[0].perSecond"},
		{p + "limits", inProject, -1, 1_000_000, limit("burst", strconv.Itoa), p + "limits[0].burst"},
		{p + "limits", inProject, -1, 1_000_000_000, limit("perDay", strconv.Itoa), p + "limits[0].perDay"},
		{p + "disabledTools", inProject, -1, 10_000, list, ""},
		{p + "disabledTools", inProject, 1, 512, bytes, p + "disabledTools[0]"},
		{p + "toolNameLimit", inProject, 32, 256, strconv.Itoa, ""},
		{p + "mcpServers", inProject, -1, 200, func(n int) string {
			return object(n, func(i int) string { return "s" + strconv.Itoa(i) }, `{"url":"https://up.example"}`)
		}, ""},
		{s + "authBearer", inServer, -1, 8192, chars, ""},
		{s + "headers", inServer, -1, 32, func(n int) string { return object(n, func(i int) string { return "X-" + strconv.Itoa(i) }, `"v"`) }, ""},
		{s + "headers", inServer, -1, 8192, func(n int) string { return `{"X-A":` + chars(n) + `}` }, s + "headers.X-A"},
		{s + "allowedTools", inServer, -1, 500, list, ""},
		{s + "allowedTools", inServer, 1, 256, bytes, s + "allowedTools[0]"},
		{s + "denyTools", inServer, -1, 500, list, ""},
		{s + "denyTools", inServer, 1, 256, bytes, s + "denyTools[0]"},
		{s + "timeout", inServer, 100, 600_000, strconv.Itoa, ""},
		{s + "taskTimeout", inServer, 1_000, 86_400_000, strconv.Itoa, ""},
		{s + "maxConcurrent", inServer, 1, 4_096, strconv.Itoa, ""},
		{s + "oauth.clientId", inServer, -1, 2048, chars, ""},
		{s + "oauth.clientSecret", inServer, -1, 8192, chars, ""},
		{s + "oauth.scopes", inServer, -1, 100, list, ""},
		{s + "oauth.scopes", inServer, 1, 256, bytes, s + "oauth.scopes[0]"},
	} {
		for _, n := range []int{tc.low - 1, tc.low, tc.low + 1, tc.top - 1, tc.top, tc.top + 1} {
			if n < 0 && tc.low < 0 {
				continue
			}
			t.Run(tc.path+"="+strconv.Itoa(n), func(t *testing.T) {
				prefix := s
				if !strings.HasPrefix(tc.path, s) {
					prefix = p
				}
				outer, inner, nested := strings.Cut(strings.TrimPrefix(tc.path, prefix), ".")
				field := quote(outer) + ":" + tc.value(max(n, 0))
				if n < 0 {
					field = quote(outer) + ":" + strconv.Itoa(n)
				}
				if nested {
					value := strconv.Itoa(n)
					if n >= 0 {
						value = tc.value(n)
					}
					field = quote(outer) + ":{" + quote(inner) + ":" + value + "}"
				}
				_, err := declaration.Parse([]byte(tc.file(field)))
				if n >= tc.low && n <= tc.top {
					if err != nil {
						t.Errorf("refused: %v", fieldsOf(err))
					}
					return
				}
				problem := tc.problem
				if problem == "" {
					problem = tc.path
				}
				wantProblem(t, err, "", problem)
			})
		}
	}
}

func TestURLLimitCountsCharacters(t *testing.T) {
	for n, ok := range map[int]bool{2047: true, 2048: true, 2049: false} {
		url := "https://up.example/"
		_, err := declaration.Parse([]byte(inProject(`"mcpServers":{"s":{"url":` + quote(url+strings.Repeat("x", n-len(url))) + `}}`)))
		if ok != (err == nil) {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}

func TestToolNameLimitZeroMeansNone(t *testing.T) {
	for value, ok := range map[string]bool{"0": true, "1": false, "-1": false, "31": false, "32": true, "64.0": false, `"64"`: false, "null": false} {
		_, err := declaration.Parse([]byte(inProject(`"toolNameLimit":` + value)))
		if ok != (err == nil) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestValueTypes(t *testing.T) {
	for _, tc := range []struct{ file, path string }{
		{`{"projects":[]}`, "projects"},
		{`{"projects":null}`, "projects"},
		{`{"projects":{"p":null}}`, "projects.p"},
		{`{"projects":{"p":"x"}}`, "projects.p"},
		{inProject(`"name":null`), "projects.p.name"},
		{inProject(`"name":7`), "projects.p.name"},
		{inProject(`"name":"a\u0000b"`), "projects.p.name"},
		{inProject(`"description":{}`), "projects.p.description"},
		{inProject(`"authMode":"open"`), "projects.p.authMode"},
		{inProject(`"authMode":"None"`), "projects.p.authMode"},
		{inProject(`"authMode":null`), "projects.p.authMode"},
		{inProject(`"codeMode":true`), "projects.p.codeMode"},
		{inProject(`"codeMode":{"enabled":"true"}`), "projects.p.codeMode.enabled"},
		{inProject(`"codeMode":{"enabled":1}`), "projects.p.codeMode.enabled"},
		{inProject(`"codeMode":{"timeout":1e3}`), "projects.p.codeMode.timeout"},
		{inProject(`"codeMode":{"timeout":"1000"}`), "projects.p.codeMode.timeout"},
		{inProject(`"codeMode":{"timeout":99999999999999999999}`), "projects.p.codeMode.timeout"},
		{inProject(`"codeMode":{"allowFetch":null}`), "projects.p.codeMode.allowFetch"},
		{inProject(`"toolExposure":"none"`), "projects.p.toolExposure"},
		{inProject(`"disabledTools":"a"`), "projects.p.disabledTools"},
		{inProject(`"disabledTools":[1]`), "projects.p.disabledTools[0]"},
		{inProject(`"disabledTools":["a","\u0000"]`), "projects.p.disabledTools[1]"},
		{inProject(`"rateLimit":{"perSecond":-0.1}`), "projects.p.rateLimit.perSecond"},
		{inProject(`"rateLimit":{"perSecond":1e400}`), "projects.p.rateLimit.perSecond"},
		{inProject(`"rateLimit":{"perSecond":"1"}`), "projects.p.rateLimit.perSecond"},
		{inProject(`"rateLimit":{"burst":1.5}`), "projects.p.rateLimit.burst"},
		{inProject(`"mcpServers":[]`), "projects.p.mcpServers"},
		{inProject(`"mcpServers":{"s":null}`), "projects.p.mcpServers.s"},
		{inServer(`"transport":"http"`), "projects.p.mcpServers.s.transport"},
		{inServer(`"authType":"basic"`), "projects.p.mcpServers.s.authType"},
		{inServer(`"headers":{"X-A":null}`), "projects.p.mcpServers.s.headers.X-A"},
		{inServer(`"headers":[]`), "projects.p.mcpServers.s.headers"},
		{inServer(`"allowedTools":"*"`), "projects.p.mcpServers.s.allowedTools"},
		{inServer(`"enabled":0`), "projects.p.mcpServers.s.enabled"},
		{inServer(`"sessionMode":"sticky"`), "projects.p.mcpServers.s.sessionMode"},
		{inServer(`"definitionPolicy":"pin"`), "projects.p.mcpServers.s.definitionPolicy"},
		{inServer(`"oauth":null`), "projects.p.mcpServers.s.oauth"},
		{inServer(`"oauth":{"scopes":[""]}`), "projects.p.mcpServers.s.oauth.scopes[0]"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			_, err := declaration.Parse([]byte(tc.file))
			wantProblem(t, err, "", tc.path)
		})
	}
}

func TestUnknownKeyPaths(t *testing.T) {
	for _, tc := range []struct{ file, path, message string }{
		{`{"projects":{},"version":1}`, "version", "unknown"},
		{inProject(`"color":"red"`), "projects.p.color", "use one of"},
		{inProject(`"Name":"x"`), "projects.p.Name", "did you mean name?"},
		{inProject(`"auth_mode":"none"`), "projects.p.auth_mode", "did you mean authMode?"},
		{inProject(`"codeMode":{"limit":1}`), "projects.p.codeMode.limit", "unknown"},
		{inProject(`"rateLimit":{"rate":1}`), "projects.p.rateLimit.rate", "unknown"},
		{inServer(`"allowed-tools":[]`), "projects.p.mcpServers.s.allowed-tools", "did you mean allowedTools?"},
		{inServer(`"oauth":{"client_id":"x"}`), "projects.p.mcpServers.s.oauth.client_id", "did you mean clientId?"},
		{inServer(`"type":"http"`), "projects.p.mcpServers.s.type", "unknown"}, // only in the bare form
		{inServer(`"serverUrl":"x"`), "projects.p.mcpServers.s.serverUrl", "unknown"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			_, err := declaration.Parse([]byte(tc.file))
			wantProblem(t, err, tc.message, tc.path)
		})
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	_, err := declaration.Parse([]byte(`{"projects":{"Bad Slug":{"authMode":"x","mcpServers":{"a__b":{"timeout":1},"ok":{"url":7,"color":1}}},"p":{"name":1}},"more":0}`))
	wantProblem(t, err, "lower-case",
		"projects.Bad Slug", "projects.Bad Slug.authMode", "projects.Bad Slug.mcpServers.a__b", "projects.Bad Slug.mcpServers.a__b.timeout",
		"projects.Bad Slug.mcpServers.ok.color", "projects.Bad Slug.mcpServers.ok.url", "projects.p.name", "more")
}

func TestSingleProblemIsMessage(t *testing.T) {
	_, err := declaration.Parse([]byte(inProject(`"name":1`)))
	if f := wantFault(t, err, fault.CodeValidationFailed); f.Message != "projects.p.name: use a string" {
		t.Errorf("message = %q", f.Message)
	}
}

func TestFileIsOneJSONObject(t *testing.T) {
	for name, file := range map[string]string{
		"empty": "", "text": "hello", "array": "[]", "null": "null", "truncated": `{"projects":{`, "two values": `{"projects":{}} {}`,
		"duplicate key": `{"projects":{},"projects":{}}`, "bad UTF-8": "{\"projects\":{\"p\":{\"name\":\"\xff\"}}}",
		"comment": "{/* x */}", "65 levels": strings.Repeat(`{"projects":`, 64) + "{}" + strings.Repeat("}", 64),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := declaration.Parse([]byte(file))
			wantProblem(t, err, "", "(file)")
		})
	}
	_, err := declaration.Parse([]byte(`{}`))
	wantProblem(t, err, "either projects or mcpServers", "projects")
	_, err = declaration.Parse([]byte(`{"projects":{"p":{"mcpServers":{"s":{"url":"x","url":"y"}}}}}`))
	wantFault(t, err, fault.CodeValidationFailed)
	_, err = declaration.Parse([]byte(`{"mcpServers":{},"projects":{}}`))
	wantProblem(t, err, "either projects or mcpServers", "mcpServers")
}

func TestFileNestingLimit(t *testing.T) {
	for depth, ok := range map[int]bool{63: true, 64: true, 65: false} {
		// Too deep for any field, so only the kind of fault matters.
		file := `{"projects":{"p":{"name":` + strings.Repeat("[", depth-3) + strings.Repeat("]", depth-3) + `}}}`
		_, err := declaration.Parse([]byte(file))
		want := "projects.p.name"
		if !ok {
			want = "(file)"
		}
		wantProblem(t, err, "", want)
	}
}

func TestFileSizeLimit(t *testing.T) {
	for n, code := range map[int]fault.Code{
		declaration.MaxSize - 1: fault.CodeValidationFailed, declaration.MaxSize: fault.CodeValidationFailed,
		declaration.MaxSize + 1: fault.CodePayloadTooLarge,
	} {
		head, tail := `{"projects":{"p":{"name":"`, `"}}}`
		_, err := declaration.Parse([]byte(head + strings.Repeat("x", n-len(head)-len(tail)) + tail))
		wantFault(t, err, code)
	}
}

func TestCheckSlug(t *testing.T) {
	for slug, ok := range map[string]bool{
		"a": true, "0": true, "demo": true, "a-b": true, "a--b": true, "default": true, "1-2-3": true,
		strings.Repeat("a", 63): true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"": false, "-": false, "-a": false, "a-": false, "A": false, "Demo": false, "a_b": false, "a.b": false, "a b": false,
		"a/b": false, "é": false, "a\n": false, "\na": false, "..": false, "a%20b": false,
	} {
		_, err := declaration.Parse([]byte(`{"projects":{` + quote(slug) + `:{}}}`))
		if ok != (err == nil) {
			t.Errorf("%q: %v", slug, err)
		}
	}
}

func TestCheckAlias(t *testing.T) {
	for alias, message := range map[string]string{
		"a": "", "A": "", "9": "", "GitHub": "", "a_b": "", "a.b": "", "a-b": "", "a.-_b": "", "gateways": "", "my-gateway": "", "gateway2": "",
		strings.Repeat("a", 63): "", strings.Repeat("a", 64): "", strings.Repeat("a", 65): "1 to 64",
		"": "1 to 64", "_": "1 to 64", "_a": "1 to 64", "a_": "1 to 64", ".a": "1 to 64", "a-": "1 to 64", "a b": "1 to 64", "a/b": "1 to 64", "é": "1 to 64",
		"a\n": "1 to 64", "a__b": "two underscores", "a___b": "two underscores", "gateway": "reserved", "Gateway": "reserved", "GATEWAY": "reserved",
	} {
		for _, file := range []string{
			`{"projects":{"p":{"mcpServers":{` + quote(alias) + `:{"url":"https://up.example"}}}}}`,
			`{"mcpServers":{` + quote(alias) + `:{"url":"https://up.example"}}}`,
		} {
			_, err := declaration.Parse([]byte(file))
			switch {
			case message == "" && err != nil:
				t.Errorf("CheckAlias(%q) = %v, want no problem", alias, fieldsOf(err))
			case message != "" && (err == nil || !strings.Contains(fmt.Sprint(fieldsOf(err)), message)):
				t.Errorf("CheckAlias(%q) = %v, want a problem with %q", alias, fieldsOf(err), message)
			}
		}
	}
}

func TestAliasesAreUniqueIgnoringCase(t *testing.T) {
	_, err := declaration.Parse([]byte(inProject(`"mcpServers":{"GitHub":{"url":"https://a.example"},"github":{"url":"https://b.example"}}`)))
	wantProblem(t, err, `"GitHub" already exists`, "projects.p.mcpServers.github")
}

func TestParseCompleteDeclaration(t *testing.T) {
	d := parse(t, `{"projects": {"demo": {
   "name": "Demo", "description": "d", "authMode": "none",
   "codeMode": {"enabled": true, "timeout": 30000, "allowFetch": false},
   "mcpServers": {"everything": {
      "url": "http://127.0.0.1:3001/mcp", "transport": "auto", "authType": "none", "authBearer": "${MCP_UPSTREAM_TOKEN}",
      "headers": {"X-A": "1"}, "allowedTools": ["*"], "denyTools": ["delete_*"], "enabled": true, "timeout": 60000, "maxConcurrent": 64,
      "sessionMode": "shared", "definitionPolicy": "follow", "oauth": {"clientId": "", "clientSecret": "", "scopes": []} }},
   "toolExposure": "full", "toolNameLimit": 0, "disabledTools": [], "rateLimit": {"perSecond": 0.5, "burst": 0},
   "limits": [{"per": "key", "match": "everything__*", "perSecond": 0.5, "burst": 2, "perDay": 100}, {"per": "toolset", "perDay": 1}], "recordPayloads": true }}}`)
	want := &declaration.File{Projects: map[string]*declaration.Project{"demo": {
		Name: new("Demo"), Description: new("d"), AuthMode: new(models.AuthNone),
		CodeModeEnabled: new(true), CodeModeTimeoutMS: new(int64(30000)), CodeModeFetch: new(false),
		ToolExposure: new(models.ExposeFull), ToolNameLimit: new(int64(0)), DisabledTools: &[]string{}, RatePerSecond: new(0.5), RateBurst: new(int64(0)), RecordPayloads: new(true),
		Limits: &[]models.Limit{{Per: models.PerKey, Match: "everything__*", PerSecond: 0.5, Burst: 2, PerDay: 100}, {Per: models.PerToolset, Match: "*", PerDay: 1}},
		Servers: map[string]*declaration.Server{"everything": {
			URL: new("http://127.0.0.1:3001/mcp"), Transport: new(models.TransportAuto), AuthType: new(models.UpstreamAuthNone), AuthBearer: new("${MCP_UPSTREAM_TOKEN}"),
			Headers: map[string]string{"X-A": "1"}, AllowedTools: &[]string{"*"}, DenyTools: &[]string{"delete_*"}, Enabled: new(true), TimeoutMS: new(int64(60000)), MaxConcurrent: new(int64(64)),
			SessionMode: new(models.SessionShared), DefinitionPolicy: new(models.PolicyFollow),
			OAuthClientID: new(""), OAuthClientSecret: new(""), OAuthScopes: &[]string{},
		}},
	}}}
	if d := cmp.Diff(want, d); d != "" {
		t.Errorf("read (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&declaration.Project{Servers: map[string]*declaration.Server{}}, parse(t, `{"projects":{"p":{}}}`).Projects["p"]); d != "" {
		t.Errorf("empty project (-want +got):\n%s", d)
	}
}

func TestTimeoutProblemsHaveUnit(t *testing.T) {
	for _, value := range []string{"999", "300001", "30.5", `"30s"`} {
		_, err := declaration.Parse([]byte(`{"projects":{"p":{"codeMode":{"timeout":` + value + `}}}}`))
		wantProblem(t, err, "use a whole number of milliseconds from 1000 to 300000", "projects.p.codeMode.timeout")
	}
	for _, value := range []string{"99", "600001"} {
		_, err := declaration.Parse([]byte(inServer(`"timeout":` + value)))
		wantProblem(t, err, "use a whole number of milliseconds from 100 to 600000", "projects.p.mcpServers.s.timeout")
	}
	for _, value := range []string{"1000", "300000"} {
		if _, err := declaration.Parse([]byte(`{"projects":{"p":{"codeMode":{"timeout":` + value + `}}}}`)); err != nil {
			t.Errorf("%s: %v", value, fieldsOf(err))
		}
	}
}
