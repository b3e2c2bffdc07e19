package tools_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// want fails the test unless a page has the status and the texts.
func want(t *testing.T, what string, status, wantStatus int, body string, texts ...string) {
	t.Helper()
	if status != wantStatus {
		t.Errorf("%s: status %d, want %d", what, status, wantStatus)
	}
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("%s: the page lacks %q", what, text)
		}
	}
}

func TestOverrideForm(t *testing.T) {
	w := newWorld(t, map[string][]string{"s": {definition("get", "Gets it.", ""), definition("other", "Does it.", "")}})
	status, body, _ := w.Send(t, list+"/s__get", nil)
	want(t, "tool", status, http.StatusOK, body, "Edit overrides", `placeholder="get"`, `placeholder="Gets it."`, "As the server says (nothing)")
	if strings.Contains(body, "Reset all overrides?") || strings.Contains(body, "Renamed") {
		t.Error("a tool without overrides has a reset or a badge")
	}

	for name, tt := range map[string]struct {
		form url.Values
		text string
	}{
		"name":      {url.Values{"as": {"a b"}}, "1 to 128 letters"},
		"json":      {url.Values{"fixed": {"{id"}}, "Use a JSON object"},
		"list":      {url.Values{"defaults": {"[1]"}}, "Use a JSON object"},
		"both":      {url.Values{"fixed": {`{"id":1}`}, "defaults": {`{"id":1}`}}, "this argument is fixed already"},
		"reference": {url.Values{"fixed": {`{"id":"${HOME}"}`}}, "not allowed"},
		"hint":      {url.Values{"annotations.readOnlyHint": {"maybe"}}, "Choose one of the options"},
		"outdated":  {url.Values{"title": {"<b>T"}, "seen": {"another"}}, "stored settings changed"},
	} {
		status, body, _ := w.Send(t, list+"/s__get/overrides", tt.form)
		want(t, name, status, http.StatusUnprocessableEntity, body, tt.text)
		if name == "json" {
			want(t, name, status, status, body, ">{id</textarea>")
		}
		if strings.Contains(body, "<b>T") {
			t.Error("an entered value is not escaped")
		}
	}

	status, _, location := w.Send(t, list+"/s__get/overrides", url.Values{
		"as": {"fetch"}, "title": {"Fetch <it>"}, "annotations.readOnlyHint": {"true"}, "fixed": {`{"id": 1.50}`},
	})
	if status != http.StatusSeeOther || location != list+"/s__fetch" {
		t.Fatalf("saved: %d %s", status, location)
	}
	status, body, _ = w.Send(t, location, nil)
	want(t, "renamed tool", status, http.StatusOK, body, "Renamed", "Name on the server", "Fetch &lt;it&gt;", "&#34;id&#34;: 1.50", "Reset all overrides?", "Calls to s__fetch fail", "This tool takes no arguments.")
	status, body, _ = w.Send(t, list, nil)
	want(t, "list", status, http.StatusOK, body, "s__fetch", "Renamed", `<span class="muted tiny mono">get</span>`)
	if status, _, _ := w.Send(t, list+"/s__get", nil); status != http.StatusNotFound {
		t.Errorf("former name: %d", status)
	}

	status, _, location = w.Send(t, list+"/s__other/overrides", url.Values{"as": {"fetch"}})
	if status != http.StatusSeeOther || !strings.HasPrefix(location, list+"/s__other_") {
		t.Fatalf("taken name: %d %s", status, location)
	}
	status, body, _ = w.Send(t, location, nil)
	want(t, "held back", status, http.StatusOK, body, "It is held back because another tool has its name", "Its name belongs to the tool get")
	status, body, _ = w.Send(t, "/admin/projects/t/servers/"+w.ServerID(t, "t", "s"), nil)
	want(t, "server", status, http.StatusOK, body, "is held back: its name belongs to")

	for _, path := range []string{location, list + "/s__fetch"} {
		if status, _, _ := w.Send(t, path+"/overrides/reset", url.Values{}); status != http.StatusSeeOther {
			t.Errorf("reset of %s: %d", path, status)
		}
	}
	for _, name := range []string{"s__get", "s__other"} {
		status, body, _ = w.Send(t, list+"/"+name, nil)
		want(t, "after the reset", status, http.StatusOK, body, "Edit overrides")
	}
}

func TestConfirmAccessOnPage(t *testing.T) {
	w := newWorld(t, map[string][]string{"s": {definition("get", "Gets it.", "")}})
	w.servers["s"].SetTools(asTools([]string{definition("get", "Gets it.", `"readOnlyHint":true`)})...)
	w.Sync(t, "t", "s")
	const notice = "The server changed this tool from destructive to read."
	status, body, _ := w.Send(t, list+"/s__get", nil)
	want(t, "pending", status, http.StatusOK, body, notice, "Confirm")
	p, err := w.Services.Directory.Project("t")
	if err != nil {
		t.Fatal(err)
	}
	tool := p.AllTools()[0]
	if status, _, _ := w.Send(t, list+"/s__get/access", url.Values{"hash": {"another"}}); status != http.StatusSeeOther {
		t.Errorf("unseen definition: %d", status)
	}
	if status, body, _ = w.Send(t, list+"/s__get", nil); !strings.Contains(body, notice) {
		t.Errorf("an unseen definition was confirmed: %d", status)
	}
	if status, _, _ := w.Send(t, list+"/s__get/access", url.Values{"hash": {tool.Hash}}); status != http.StatusSeeOther {
		t.Errorf("confirm: %d", status)
	}
	if _, body, _ = w.Send(t, list+"/s__get", nil); strings.Contains(body, notice) {
		t.Error("the notice is still there")
	}
}
