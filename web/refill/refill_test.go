package refill_test

import (
	"net/url"
	"strings"
	"testing"

	"mcpgateway/web/refill"
)

const page = `<!DOCTYPE html><html><head></head><body><main id="main">` +
	`<form method="post" action="/other"><input name="name" value="kept"></form>` +
	`<details><form id="f" method="post" action="/things?x=1"><input type="hidden" name="csrf" value="new"><input type="hidden" name="seen" value="now">` +
	`<input name="name" value="stored"><input type="password" name="secret"><input name="row"><input name="row">` +
	`<textarea name="text">old</textarea>` +
	`<select name="days"><option value="30">30</option><option value="90" selected="">90</option><option>never</option></select>` +
	`<input type="radio" name="role" value="admin" checked=""><input type="radio" name="role" value="viewer">` +
	`<input type="checkbox" name="tool" value="a"><input type="checkbox" name="tool" value="b" checked=""><input type="checkbox" name="plain">` +
	`<input type="file" name="file"><button name="decision" value="allow">Allow</button></form></details>` +
	`<input form="f" name="outside" value=""></main></body></html>`

func fill(t *testing.T, path string, values url.Values) (string, bool) {
	t.Helper()
	p, err := refill.Parse([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	found := p.Fill(path, values)
	if err := p.Insert(`<p class="notice">Not sent</p>`); err != nil {
		t.Fatal(err)
	}
	got, err := p.Render()
	if err != nil {
		t.Fatal(err)
	}
	return string(got), found
}

func TestFillSetsEveryKindOfField(t *testing.T) {
	got, found := fill(t, "/things", url.Values{
		"csrf": {"old"}, "seen": {"before"}, "name": {`Ada's "laptop" <b>`}, "secret": {"hush"}, "row": {"one", "two", "three"}, "text": {"<script>\nnew"},
		"days": {"never"}, "role": {"viewer"}, "tool": {"a"}, "plain": {"on"}, "outside": {"far"}, "decision": {"allow"}, "file": {"x"},
	})
	if !found {
		t.Fatal("form not found")
	}
	for _, want := range []string{
		`<main id="main"><p class="notice">Not sent</p>`, `<details open="">`, `name="csrf" value="new"`, `name="seen" value="now"`,
		`name="name" value="Ada&#39;s &#34;laptop&#34; &lt;b&gt;"`, `name="secret" value="hush"`, `<input name="row" value="one"/><input name="row" value="two"/>`,
		`<input type="hidden" name="row" value="three"/>`, "<textarea name=\"text\">&lt;script&gt;\nnew</textarea>",
		`<option value="90">90</option><option selected="">never</option>`, `value="admin"/>`, `value="viewer" checked=""/>`,
		`name="tool" value="a" checked=""/><input type="checkbox" name="tool" value="b"/>`, `name="plain" checked=""/>`, `name="outside" value="far"`,
		`<form method="post" action="/other"><input name="name" value="kept"/>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("page lacks %s:\n%s", want, got)
		}
	}
	for _, name := range []string{"decision", "csrf", "seen"} {
		if n := strings.Count(got, `name="`+name+`"`); n != 1 {
			t.Errorf("page has %d fields %s", n, name)
		}
	}
}

func TestFillNeedsEditableField(t *testing.T) {
	for name, tt := range map[string]struct {
		path   string
		values url.Values
	}{
		"another path":       {"/nothing", url.Values{"name": {"x"}}},
		"only hidden fields": {"/things", url.Values{"csrf": {"x"}, "seen": {"y"}}},
	} {
		if _, found := fill(t, tt.path, tt.values); found {
			t.Errorf("%s: form found", name)
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add(page, "/things", "name=x&row=1&row=2")
	f.Fuzz(func(t *testing.T, document, path, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Skip()
		}
		p, err := refill.Parse([]byte(document))
		if err != nil {
			t.Skip()
		}
		p.Fill(path, values)
		if _, err := p.Render(); err != nil && !strings.Contains(err.Error(), "html:") {
			t.Error(err)
		}
	})
}
