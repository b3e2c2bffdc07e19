package apps

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

func TestRead(t *testing.T) {
	const html = `"mimeType":"text/html;profile=mcp-app"`
	for name, tt := range map[string]struct {
		result, listed, document, connect string
	}{
		"text":             {result: `{"contents":[{"uri":"ui://a",` + html + `,"text":"<p>"}]}`, document: "<p>"},
		"blob":             {result: `{"contents":[{` + html + `,"blob":"` + base64.StdEncoding.EncodeToString([]byte("<p>")) + `"}]}`, document: "<p>"},
		"spaces in type":   {result: `{"contents":[{"mimeType":"Text/HTML; profile=\"mcp-app\"","text":"<p>"}]}`, document: "<p>"},
		"second content":   {result: `{"contents":[{"mimeType":"text/plain","text":"x"},{` + html + `,"text":"<p>"}]}`, document: "<p>"},
		"plain HTML":       {result: `{"contents":[{"mimeType":"text/html","text":"<p>"}]}`},
		"other profile":    {result: `{"contents":[{"mimeType":"text/html;profile=x","text":"<p>"}]}`},
		"no type":          {result: `{"contents":[{"text":"<p>"}]}`},
		"no contents":      {result: `{"contents":[]}`},
		"contents missing": {result: `{}`},
		"not an object":    {result: `[]`},
		"no text":          {result: `{"contents":[{` + html + `}]}`},
		"broken blob":      {result: `{"contents":[{` + html + `,"blob":"%"}]}`},
		"policy":           {result: `{"contents":[{` + html + `,"text":"<p>","_meta":{"ui":{"csp":{"connectDomains":["https://own.example"]}}}}]}`, listed: `{"_meta":{"ui":{"csp":{"connectDomains":["https://list.example"]}}}}`, document: "<p>", connect: "https://own.example"},
		"listed policy":    {result: `{"contents":[{` + html + `,"text":"<p>","_meta":{"ui":{}}}]}`, listed: `{"_meta":{"ui":{"csp":{"connectDomains":["https://list.example"]}}}}`, document: "<p>", connect: "https://list.example"},
	} {
		r, err := Read([]byte(tt.result), []byte(tt.listed))
		if tt.document == "" {
			if !fault.Is(err, fault.CodeUpstreamInvalidResponse) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || string(r.Document) != tt.document || strings.Join(r.Policy.Connect, " ") != tt.connect {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestDocumentLimit(t *testing.T) {
	for _, n := range []int{MaxDocument - 1, MaxDocument, MaxDocument + 1} {
		r, err := Read([]byte(`{"contents":[{"mimeType":"text/html;profile=mcp-app","text":"`+strings.Repeat("x", n)+`"}]}`), nil)
		if (err == nil) != (n <= MaxDocument) || err == nil && len(r.Document) != n {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func declaredPolicy(t *testing.T, csp string) Policy {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(csp), rawjson.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	return policyOf(o)
}

func TestPolicyHeader(t *testing.T) {
	const rest = "object-src 'none'; form-action 'none'; frame-ancestors 'self'"
	for csp, want := range map[string]string{
		`{}`: "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; " + rest,
		`{"connectDomains":["wss://a.example:8443","https://b.example/"],"resourceDomains":["https://*.c.example"],"frameDomains":["https://d.example"],"baseUriDomains":["https://e.example"]}`: "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' https://*.c.example; style-src 'unsafe-inline' https://*.c.example; img-src data: blob: https://*.c.example; font-src data: https://*.c.example; media-src data: blob: https://*.c.example; connect-src wss://a.example:8443 https://b.example; frame-src https://d.example; base-uri https://e.example; " + rest,
	} {
		if diff := cmp.Diff(want, declaredPolicy(t, csp).Header()); diff != "" {
			t.Errorf("%s: %s", csp, diff)
		}
	}
}

func TestRefusedSources(t *testing.T) {
	for _, text := range []string{
		"", "*", "https:", "https://*", "http://a.example", "ws://a.example", "data:", "'self'", "'unsafe-eval'", "javascript:x", "https://a.example; script-src *",
		"https://a.example,https://b.example", "https://a.example https://b.example", "https://a.example\n", "https://a.example/path", "https://u@a.example", "https://a.example:x", "//a.example", "a.example", "https://-a", "https://é.example",
	} {
		quoted := rawjson.Quote(text)
		p := declaredPolicy(t, `{"connectDomains":[`+string(quoted)+`]}`)
		if len(p.Connect) != 0 || len(p.Refused) != 1 {
			t.Errorf("%q: %+v", text, p)
		}
	}
	for _, csp := range []string{`{"connectDomains":[7]}`, `{"connectDomains":"https://a.example"}`, `{"connectDomains":null}`} {
		if p := declaredPolicy(t, csp); len(p.Connect) != 0 {
			t.Errorf("%s: %+v", csp, p)
		}
	}
	for _, n := range []int{MaxSources - 1, MaxSources, MaxSources + 1} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"https://h%d.example"`, i))
		}
		if p := declaredPolicy(t, `{"resourceDomains":[`+strings.Join(list, ",")+`]}`); len(p.Load) != min(n, MaxSources) || len(p.Load)+len(p.Refused) != n {
			t.Errorf("%d sources: %d, %d", n, len(p.Load), len(p.Refused))
		}
	}
}
