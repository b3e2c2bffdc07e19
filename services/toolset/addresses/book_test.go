package addresses_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/toolset/addresses"
)

// claimed returns claims written as "alias text", oldest first. A text with
// braces is a template, one that ends with an asterisk a prefix.
func claimed(lines ...string) (claims []models.AddressClaim) {
	for i, line := range lines {
		alias, text, _ := strings.Cut(line, " ")
		c := models.AddressClaim{Alias: alias, Kind: models.ClaimURI, Text: text, Position: int64(i + 1)}
		if strings.Contains(text, "{") {
			c.Kind = models.ClaimTemplate
		} else if prefix, ok := strings.CutSuffix(text, "*"); ok {
			c.Kind, c.Text = models.ClaimPrefix, prefix
		}
		claims = append(claims, c)
	}
	return claims
}

func TestListed(t *testing.T) {
	for name, tt := range map[string]struct {
		claims []string
		want   []string // as listed; "-" is left out
	}{
		"one server":           {[]string{"a x://1", "a x://{n}"}, []string{"x://1", "x://{n}"}},
		"different":            {[]string{"a x://1", "b x://2"}, []string{"x://1", "x://2"}},
		"equal":                {[]string{"b x://1", "a x://1", "c x://1"}, []string{"x://1", "x://+a/1", "x://+c/1"}},
		"equal opaque":         {[]string{"b memo:i", "a memo:i"}, []string{"memo:i", "memo://+a~/i"}},
		"fits a template":      {[]string{"a x://{n}", "b x://1", "b x://1/2"}, []string{"x://{n}", "x://+b/1", "x://1/2"}},
		"template fits a URI":  {[]string{"a x://1", "b x://{n}", "c y://{n}"}, []string{"x://1", "x://+b/{n}", "y://{n}"}},
		"beginning of another": {[]string{"a x://d/{n}", "b x://{n}", "c x://d/e/{n}", "c x://e/{n}"}, []string{"x://d/{n}", "x://+b/{n}", "x://+c/d/e/{n}", "x://+c/e/{n}"}},
		"separate templates":   {[]string{"a x://d/{n}", "b x://e/{n}"}, []string{"x://d/{n}", "x://e/{n}"}},
		"own overlap":          {[]string{"a x://{n}", "a x://1", "b y://1"}, []string{"x://{n}", "x://1", "y://1"}},
		"prefix":               {[]string{"a s://r/*", "b s://r/SKILL.md", "b s://r/*", "b s://q/*", "c s://{n}"}, []string{"s://r/", "s://+b/r/SKILL.md", "s://+b/r/", "s://q/", "s://+c/{n}"}},
		"only an expression":   {[]string{"a x://1", "b {+uri}", "b y://1"}, []string{"x://1", "-", "y://1"}},
		"expression first":     {[]string{"b {+uri}", "a x://1", "a {n}"}, []string{"{+uri}", "x://+a/1", "-"}},
		"form of an address":   {[]string{"b x://+a/1", "a x://1", "c x://1", "a y://1"}, []string{"x://+a/1", "x://1", "x://+c/1", "y://1"}},
		"newer than the named": {[]string{"a x://1", "b x://+a/1", "b x://+a/{n}"}, []string{"x://1", "x://+b/+a/1", "x://+b/+a/{n}"}},
		"names itself":         {[]string{"a x://+a/1", "b y://1", "a x://+a/{n}", "b y://+b/*"}, []string{"x://+a/1", "y://1", "x://+a/{n}", "y://+b/"}},
		"both name the first":  {[]string{"a y://1", "b x://+a/1", "a x://+a/1"}, []string{"y://1", "x://+b/+a/1", "x://+a/+a/1"}},
		"address is taken":     {[]string{"b x://+a/1", "b x://1", "a x://1"}, []string{"x://+a/1", "x://1", "x://%2Ba/1"}},
		"both forms are taken": {[]string{"b x://+a/1", "b x://%2Ba/1", "b x://1", "a x://1"}, []string{"x://+a/1", "x://%2Ba/1", "x://1", "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			claims := claimed(tt.claims...)
			book := addresses.New(claims, nil)
			for i, c := range claims {
				got, ok := book.Listed(c.Alias, c.Kind, c.Text)
				if !ok {
					got = "-"
				}
				if got != tt.want[i] {
					t.Errorf("%s %s: %s, want %s", c.Alias, c.Text, got, tt.want[i])
				}
				route := book.Route(got)
				if c.Kind == models.ClaimTemplate {
					route = book.RouteTemplate(got)
				}
				if ok && (route.Alias != c.Alias || route.Text != c.Text) {
					t.Errorf("%s is routed to %+v", got, route)
				}
			}
		})
	}
}

func TestRoute(t *testing.T) {
	book := addresses.New(claimed("crm x://1", "mail x://{n}", "mail s://r/*"), []addresses.Server{{Alias: "Crm", Resources: true}, {Alias: "plain"}})
	for text, want := range map[string]addresses.Route{
		"x://1":           {Alias: "crm", Text: "x://1", Claimed: true},
		"x://2":           {Alias: "mail", Text: "x://2", Claimed: true},
		"s://r/a/b":       {Alias: "mail", Text: "s://r/a/b", Claimed: true},
		"x://+MAIL/1":     {Alias: "mail", Text: "x://1", Claimed: true},
		"z://%2bmail%2B/": {Alias: "mail", Text: "z:///", Claimed: true},
		"z://+plain/1":    {Alias: "plain", Text: "z://1", Claimed: true},
		"z://+other/1":    {Alias: "crm", Text: "z://+other/1"},
		"z://1":           {Alias: "crm", Text: "z://1"},
	} {
		if got := book.Route(text); got != want {
			t.Errorf("Route(%q) = %+v, want %+v", text, got, want)
		}
	}
	for uri, want := range map[string]string{
		"x://1": "x://+mail/1", "x://2": "x://2", "z://1": "z://+mail/1", "https://a/b": "https://a/b", "no scheme": "no scheme", "x://+crm/1": "x://+mail/+crm/1",
	} {
		if got := book.Shown("mail", uri); got != want {
			t.Errorf("Shown(mail, %q) = %q, want %q", uri, got, want)
		}
	}
	if got := addresses.New(claimed("crm https://a/b", "mail x://1"), nil).Shown("mail", "https://a/b"); got != "https://+mail/a/b" {
		t.Errorf("a claimed link is shown as %q", got)
	}
}

func TestTemplates(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		want          bool
	}{
		{"x://{n}", "x://1", true},
		{"x://{n}", "x://1/2", false},
		{"x://{+n}", "x://1/2", true},
		{"x://{n*}", "x://1/2", true},
		{"x://{a}/{b}.md", "x://1/2.md", true},
		{"x://{a}/{b}.md", "x://1/2/3.md", false},
		{"x://{+a}/{b}.md", "x://1/2/3.md", true},
		{"x://{a}{b}", "x://", true},
		{"x://{a}-{b}-{c}", "x://1-2-3-4", true},
		{"x://{a}-{b}", "x://1", false},
		{"x://a{b}a", "x://a", false},
		{"x://{a", "x://{a", true},
		{"x://a", "x://a", true},
	} {
		book := addresses.New([]models.AddressClaim{{Alias: "t", Kind: models.ClaimTemplate, Text: tt.template, Position: 2}, {Alias: "first", Kind: models.ClaimURI, Text: "y://1", Position: 1}}, nil)
		if got := book.Route(tt.uri).Alias == "t"; got != tt.want {
			t.Errorf("%s includes %s: %v", tt.template, tt.uri, got)
		}
	}
	hostile := "x://" + strings.Repeat("{a}b", 450) + "c"
	start := time.Now()
	addresses.New(claimed("t "+hostile), nil).Route("x://" + strings.Repeat("b", 1900) + "c")
	if d := time.Since(start); d > time.Second {
		t.Errorf("matching takes %s", d)
	}
}

// TestMaximumOfClaims checks that a full project shows what is not claimed
// qualified, also that of its only server.
func TestMaximumOfClaims(t *testing.T) {
	var lines []string
	for i := range addresses.MaxClaims {
		lines = append(lines, fmt.Sprintf("a x://%d", i))
	}
	for n, want := range map[int]string{addresses.MaxClaims - 1: "y://1", addresses.MaxClaims: "y://+a/1"} {
		book := addresses.New(claimed(lines[:n]...), nil)
		if got, ok := book.Listed("a", models.ClaimURI, "y://1"); !ok || got != want {
			t.Errorf("%d claims: %s, want %s", n, got, want)
		}
		if got, _ := book.Listed("a", models.ClaimURI, "x://7"); got != "x://7" {
			t.Errorf("%d claims: %s", n, got)
		}
	}
}

func TestRewriting(t *testing.T) {
	book := addresses.New(claimed("a x://1", "b x://1", "b y://1"), nil)
	for name, tt := range map[string]struct {
		rewrite  func(string, []byte) []byte
		in, want string
	}{
		"link":              {book.CallResult, `{ "content":[{"type":"resource_link","uri":"x://1","n":1.0},{"type":"text","text":"x://1"}],"structuredContent":{"uri":"x://1"} }`, `{ "content":[{"type":"resource_link","uri":"x://+b/1","n":1.0},{"type":"text","text":"x://1"}],"structuredContent":{"uri":"x://1"} }`},
		"embedded":          {book.CallResult, `{"content":[{"type":"resource","resource":{"uri":"x:\/\/1","text":"\u0041"}}]}`, `{"content":[{"type":"resource","resource":{"uri":"x://+b/1","text":"\u0041"}}]}`},
		"own":               {book.CallResult, `{"content":[{"uri":"y://1"},{"uri":"https://z"}]}`, ""},
		"unclaimed":         {book.CallResult, `{"content":[{"uri":"z://1"}]}`, `{"content":[{"uri":"z://+b/1"}]}`},
		"user interface":    {book.CallResult, `{"_meta":{"ui":{"resourceUri":"x://1"},"ui/resourceUri":"x://1","openai/outputTemplate":"x://1","uri":"x://1"}}`, `{"_meta":{"ui":{"resourceUri":"x://+b/1"},"ui/resourceUri":"x://+b/1","openai/outputTemplate":"x://+b/1","uri":"x://1"}}`},
		"elsewhere":         {book.CallResult, `{"uri":"x://1","messages":[{"content":{"uri":"x://1"}}],"content":[{"uris":["x://1"],"_meta":{"uri":"x://1"}}]}`, ""},
		"not an object":     {book.CallResult, `["uri"]`, ""},
		"other types":       {book.CallResult, `{"content":[1,"uri",{"uri":1},{"resource":"uri"}],"_meta":"resourceUri"}`, ""},
		"task":              {book.TaskResult, `{"taskId":"1","uri":"x://1","result":{"content":[{"uri":"x://1"}]}}`, `{"taskId":"1","uri":"x://1","result":{"content":[{"uri":"x://+b/1"}]}}`},
		"unfinished task":   {book.TaskResult, `{"taskId":"1","uri":"x://1"}`, ""},
		"prompt":            {book.PromptResult, `{"messages":[{"content":{"uri":"x://1"}},{"content":[{"resource":{"uri":"x://1"}}]}],"content":[{"uri":"x://1"}]}`, `{"messages":[{"content":{"uri":"x://+b/1"}},{"content":[{"resource":{"uri":"x://+b/1"}}]}],"content":[{"uri":"x://1"}]}`},
		"definition":        {book.Definition, `{"_meta":{"ui":{"resourceUri":"x://1"}},"uri":"x://1"}`, `{"_meta":{"ui":{"resourceUri":"x://+b/1"}},"uri":"x://1"}`},
		"arguments":         {book.Arguments, `{"a":"x:\/\/+b\/1","b":["x://%2Bb/1","x://+a/1","see x://+b/1"],"x://+b/1":{"c":"x://\u002BB/1"}}`, `{"a":"x://1","b":["x://1","x://+a/1","see x://+b/1"],"x://+b/1":{"c":"x://1"}}`},
		"arguments without": {book.Arguments, `{"a":"x://1"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.in
			}
			if got := string(tt.rewrite("b", []byte(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	got := string(book.ReadResult("b", "x://+B/1", "x://1", []byte(`{"contents":[{"uri":"x://1"},{"uri":"x://1/2"},{"uri":"y://1"}],"uri":"x://1"}`)))
	if want := `{"contents":[{"uri":"x://+B/1"},{"uri":"x://+b/1/2"},{"uri":"y://1"}],"uri":"x://1"}`; got != want {
		t.Errorf("got %s", got)
	}
}

// TestOneServerCostsNothing checks that results of the only server with
// resources are neither parsed nor copied.
func TestOneServerCostsNothing(t *testing.T) {
	result := []byte(`{"content":[{"type":"resource_link","uri":"x://1"}],"_meta":{"ui":{"resourceUri":"ui://+a/1"}}}`)
	for name, book := range map[string]*addresses.Book{"no resources": nil, "one server": addresses.New(claimed("a x://1"), []addresses.Server{{Alias: "a", Resources: true}, {Alias: "b"}})} {
		allocated := testing.AllocsPerRun(100, func() {
			book.CallResult("a", result)
			book.PromptResult("a", result)
			book.ReadResult("a", "x://1", "x://1", result)
			book.Arguments("a", result)
		})
		if allocated > 0 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

// BenchmarkCallResult measures a result of 64 KiB of text, for projects of one
// and of several servers with resources, and one with a link.
func BenchmarkCallResult(b *testing.B) {
	one, several := addresses.New(claimed("a x://1"), nil), addresses.New(claimed("a x://1", "b x://1"), nil)
	text := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("some text, ", 6000) + `"}]}`)
	link := []byte(`{"content":[{"type":"resource_link","uri":"x://1"},{"type":"text","text":"` + strings.Repeat("some text, ", 6000) + `"}]}`)
	for name, bb := range map[string]struct {
		book   *addresses.Book
		result []byte
	}{"one server": {one, link}, "several": {several, text}, "several with a link": {several, link}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.book.CallResult("b", bb.result)
			}
		})
	}
}

// TestSkillRootsStayWhole checks a skill whose root overlaps with one file of an
// older server: all of its files have the alias.
func TestSkillRootsStayWhole(t *testing.T) {
	claims := claimed("shop skill://refunds/GUIDE.md", "bank skill://refunds/*", "bank skill://payroll/*")
	b := addresses.New(claims, []addresses.Server{{Alias: "bank", Resources: true}, {Alias: "shop", Resources: true}})
	const entry = `{"uri":"skill://refunds/SKILL.md","resources":[{"uri":"skill://refunds/SKILL.md"},{"uri":"skill://refunds/a/b.md"},{"uri":"skill://payroll/c.md"}],"_meta":{"x":1}}`
	const want = `{"uri":"skill://+bank/refunds/SKILL.md","resources":[{"uri":"skill://+bank/refunds/SKILL.md"},{"uri":"skill://+bank/refunds/a/b.md"},{"uri":"skill://payroll/c.md"}],"_meta":{"x":1,"gateway/server":"bank"}}`
	if got := string(b.Skill("bank", "skill://refunds/SKILL.md", []byte(entry))); got != want {
		t.Errorf("entry: %s, want %s", got, want)
	}
	result := b.SkillResult("bank", "skill://%2Bbank/refunds/SKILL.md", "skill://refunds/SKILL.md", []byte(`{"skill":`+entry+`}`))
	if want := `{"skill":` + strings.ReplaceAll(want, "+", "%2B") + `}`; string(result) != want {
		t.Errorf("result: %s, want %s", result, want)
	}
	for uri, want := range map[string]addresses.Route{
		"skill://payroll":        {Alias: "bank", Text: "skill://payroll", Claimed: true},
		"skill://+bank/refunds":  {Alias: "bank", Text: "skill://refunds", Claimed: true},
		"skill://refunds/a":      {Alias: "bank", Text: "skill://refunds/a", Claimed: true},
		"skill://unknown/folder": {Alias: "shop", Text: "skill://unknown/folder"},
	} {
		if got := b.RouteDirectory(uri); got != want {
			t.Errorf("%s: %+v, want %+v", uri, got, want)
		}
	}
}
