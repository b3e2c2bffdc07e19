package declaration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// shown returns a pasted server as one line: alias, declaration, problems and
// notes.
func shown(t *testing.T, s declaration.PastedServer) string {
	t.Helper()
	d := map[string]any{}
	for name, value := range map[string]*string{"url": s.Declaration.URL, "bearer": s.Declaration.AuthBearer, "type": (*string)(s.Declaration.AuthType), "transport": (*string)(s.Declaration.Transport)} {
		if value != nil {
			d[name] = *value
		}
	}
	if s.Declaration.Headers != nil {
		d["headers"] = s.Declaration.Headers
	}
	if s.Declaration.Enabled != nil {
		d["enabled"] = *s.Declaration.Enabled
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	line := s.Alias + " " + string(b)
	for _, p := range s.Problems {
		line += fmt.Sprintf(" [%s %s: %s]", p.Path, p.Field, p.Why)
	}
	for _, note := range s.Notes {
		line += "; " + note
	}
	return line
}

func TestParsePasted(t *testing.T) {
	const notRun = `commands are taken only from a file: save this entry and run "gateway serve --local FILE"`
	for name, tc := range map[string]struct {
		pasted string
		want   []string
	}{
		"URL":                     {" https://mcp.linear.app/mcp\n", []string{`linear {"url":"https://mcp.linear.app/mcp"}`}},
		"loopback URL":            {"http://127.0.0.1:3001/mcp", []string{`server {"url":"http://127.0.0.1:3001/mcp"}`}},
		"host":                    {"http://localhost:3001/mcp", []string{`localhost {"url":"http://localhost:3001/mcp"}`}},
		"mcpServers":              {`{"mcpServers":{"b":{"url":"https://b.example"},"a":{"serverUrl":"https://a.example","type":"sse"}}}`, []string{`a {"transport":"sse","url":"https://a.example"}`, `b {"url":"https://b.example"}`}},
		"VS Code":                 {`{"inputs":[],"servers":{"gh":{"type":"http","url":"https://gh.example"}}}`, []string{`gh {"transport":"streamable-http","url":"https://gh.example"}`}},
		"VS Code settings":        {`{"editor.tabSize":2,"mcp":{"servers":{"gh":{"url":"https://gh.example"}}}}`, []string{`gh {"url":"https://gh.example"}`}},
		"map":                     {`{"gh":{"httpUrl":"https://gh.example"},"x":"https://x.example"}`, []string{`gh {"url":"https://gh.example"}`, `x {"url":"https://x.example"}`}},
		"copied entries":          {`"gh": {"url":"https://gh.example"},`, []string{`gh {"url":"https://gh.example"}`}},
		"one server":              {`{"url":"https://api.example.com/mcp","headers":{"X-Key":"k"}}`, []string{`example {"headers":{"X-Key":"k"},"url":"https://api.example.com/mcp"}`}},
		"comments":                {"{ // of VS Code\n\"servers\":{/* one, */\"gh\":{\"url\":\"https://gh.example/a//b\",},\n},}", []string{`gh {"url":"https://gh.example/a//b"}`}},
		"comments in a string":    {`{"gh":{"url":"https://gh.example","headers":{"X":"a\"//,}"}}}`, []string{`gh {"headers":{"X":"a\"//,}"},"url":"https://gh.example"}`}},
		"server called mcp":       {`{"mcp":{"url":"https://x.example"}}`, []string{`x {"url":"https://x.example"}`}},
		"bearer header":           {`{"a":{"url":"https://a.example","headers":{"authorization":"bearer  tok"}}}`, []string{`a {"bearer":"tok","type":"bearer","url":"https://a.example"}`}},
		"references":              {`{"a":{"url":"https://a.example","headers":{"Authorization":"Bearer ${env:A_TOKEN}","X-B":"${B:-}"}}}`, []string{`a {"bearer":"${A_TOKEN}","headers":{"X-B":"${B}"},"type":"bearer","url":"https://a.example"}`}},
		"prompt variable":         {`{"a":{"url":"https://a.example","headers":{"Authorization":"Bearer ${input:token}"}}}`, []string{`a {"bearer":"","type":"bearer","url":"https://a.example"} [headers.Authorization authBearer: the client prompts for this value: enter the value, or a reference such as ${NAME}]`}},
		"variable inside a value": {`{"a":{"url":"https://a.example","headers":{"X":"key ${A}"}}}`, []string{`a {"headers":{"X":""},"url":"https://a.example"} [headers.X headers.X: a reference must be the whole value: enter the value, or put the whole value into a variable]`}},
		"disabled":                {`{"a":{"url":"https://a.example","disabled":true,"autoApprove":["x"],"icon":"a.png"}}`, []string{`a {"enabled":false,"url":"https://a.example"}; ignored: autoApprove, icon`}},
		"command":                 {`{"mcpServers":{"fs":{"command":"npx","args":["-y","server-filesystem","/"]},"ok":{"url":"https://ok.example"}}}`, []string{`fs {} [command command: ` + notRun + `]`, `ok {"url":"https://ok.example"}`}},
		"one command":             {`{"command":"npx"}`, []string{`server {} [command command: ` + notRun + `]`}},
		"other bridge":            {`{"a":{"command":"sh","args":["-c","curl","https://evil.example"]}}`, []string{`a {} [command command: ` + notRun + `]`}},
		"stdio":                   {`{"a":{"type":"stdio","url":"https://a.example"}}`, []string{`a {"url":"https://a.example"} [type command: ` + notRun + `]`}},
		"bridge":                  {`{"a":{"command":"npx","args":["-y","mcp-remote@latest","https://a.example/sse","--header","Authorization: Bearer ${T}"]}}`, []string{`a {"bearer":"${T}","type":"bearer","url":"https://a.example/sse"}; the command only connects to a remote server: its URL is used instead`}},
		"invalid alias":           {`{"a b":{"url":"https://a.example"}}`, []string{`a b {"url":"https://a.example"} [ alias: use 1 to 64 letters, digits and inner hyphens, dots or underscores]`}},
		"duplicate aliases":       {`{"a":{"url":"https://a.example"},"A":{"url":"https://b.example"}}`, []string{`A {"url":"https://b.example"}`, `a {"url":"https://a.example"} [ alias: aliases must be unique ignoring case: "A" already exists]`}},
		"no URL":                  {`{"a":{}}`, []string{`a {} [url url: this key is required]`}},
		"no usable server":        {`{"a":7}`, []string{`a {} [ url: use an object, or a URL]`}},
	} {
		t.Run(name, func(t *testing.T) {
			pasted, err := declaration.ParsePasted(tc.pasted)
			if err != nil {
				t.Fatal(err, fieldsOf(err))
			}
			var got []string
			for _, s := range pasted.Servers {
				got = append(got, shown(t, s))
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestParsePastedErrors(t *testing.T) {
	entries := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"s%d":"https://x.example"`, i)
		}
		return `{"mcpServers":{` + strings.Join(list, ",") + `}}`
	}
	for _, text := range []string{"", "hello", "[]", "{", "{}", `{"mcpServers":{}}`, "ftp://x.example", "https://", "https://a.example https://b.example", `{"a":{},"a":{}}`, entries(declaration.MaxServers + 1), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)} {
		_, err := declaration.ParsePasted(text)
		wantProblem(t, err, "paste a URL", "pasted")
	}
	if pasted, err := declaration.ParsePasted(entries(declaration.MaxServers)); err != nil || len(pasted.Servers) != declaration.MaxServers {
		t.Errorf("%v, %v", pasted, err)
	}
	for n, code := range map[int]fault.Code{declaration.MaxPasted - 1: fault.CodeValidationFailed, declaration.MaxPasted: fault.CodeValidationFailed, declaration.MaxPasted + 1: fault.CodePayloadTooLarge} {
		_, err := declaration.ParsePasted(strings.Repeat("x", n))
		wantFault(t, err, code)
	}
}

func TestPastedErrorMessages(t *testing.T) {
	for text, message := range map[string]string{
		"hello world":         "this is neither",
		"hello":               "this is neither",
		"ftp://127.0.0.1/mcp": "must start with http:// or https://",
		"mcp.example.com/mcp": "must start with http:// or https://",
		"localhost:3001":      "must start with http:// or https://",
		`{"gh":{"url":"https://gh.example"}} /* and`: "unexpected data",
		`[1]`:                   "this is a JSON array",
		`["https://a.example"]`: "this is a JSON array",
		"{\n  \"mcpServers\": {\n    \"ä\": x\n  }\n}": "in line 3, column 10",
		`"gh": {"url": x},`:                            "in line 1, column 15",
		`{"gh": {"url":"https://gh.example"}`:          "cut off: a closing } is missing",
		`{,}`:                                          "it contains no servers",
	} {
		_, err := declaration.ParsePasted(text)
		f := fault.From(err)
		if !strings.Contains(f.Fields["pasted"], message) {
			t.Errorf("ParsePasted(%q) = %v", text, f.Fields)
		}
	}
}
