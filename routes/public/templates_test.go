package public_test

import (
	"encoding/xml"
	"html"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/views/public"
	"mcpgateway/web/webtest"
)

func TestTemplatePages(t *testing.T) {
	a := newApp(t)
	list := get(t, a, "/templates", 200).Body
	rows := public.Templates(a.Services.Catalog.AllTemplates())
	if len(rows) != 24 || len(cards(list)) != 24 {
		t.Fatalf("%d templates, %d shown", len(rows), len(cards(list)))
	}
	for _, row := range rows {
		body := get(t, a, row.Path(), 200).Body
		for _, step := range row.Steps {
			if !strings.Contains(body, html.EscapeString(step)) {
				t.Errorf("%s lacks the step %q", row.Path(), step)
			}
		}
		if got := len(cards(body)); got != len(row.RelatedServerNames) {
			t.Errorf("%s has %d of %d servers", row.Path(), got, len(row.RelatedServerNames))
		}
		if d := data(t, body); d["@type"] != "HowTo" {
			t.Errorf("%s: linked data %v", row.Path(), d)
		}
	}
}

func TestTemplateSearch(t *testing.T) {
	a := newApp(t)
	webtest.Run(t, a.App, []webtest.Case{
		{Name: "category", Path: query("/templates", "category:finance"), Status: 200, WantBody: []string{"/templates/billing-support", `aria-current="true"`}, NotBody: []string{"/templates/campaign-desk"}},
		{Name: "qualifier of the registry", Path: query("/templates", "verified:true"), Status: 400, WantBody: []string{"<mark>verified:true</mark>"}},
		{Name: "nothing", Path: query("/templates", "zzzzzz"), Status: 200, WantBody: []string{"No template matches", "noindex"}},
		{Name: "similar name", Path: "/templates/biling-support", Status: 404, WantBody: []string{`href="/templates/billing-support"`}},
		{Name: "sign-in link", Path: "/templates/billing-support", Status: 200, WantBody: []string{`href="/login?next=%2Ftemplates%2Fbilling-support"`}},
	})
}

func TestSitemapListsEveryPage(t *testing.T) {
	a := newApp(t, "GATEWAY_PUBLIC_URL=https://catalog.example.com")
	answer := webtest.Send(t, a.App, webtest.Case{Path: "/sitemap.xml", Header: map[string]string{"Host": "catalog.example.com"}})
	var m struct {
		XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Places  []string `xml:"url>loc"`
	}
	if err := xml.Unmarshal([]byte(answer.Body), &m); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	if len(m.Places) != 3+24+len(a.Services.Catalog.AllEntries()) {
		t.Errorf("sitemap has %d pages", len(m.Places))
	}
	for _, place := range m.Places {
		u, err := url.Parse(place)
		if err != nil || u.Scheme != "https" || u.Host != "catalog.example.com" {
			t.Fatalf("sitemap has %s", place)
		}
	}
	webtest.Run(t, a.App, []webtest.Case{
		{Name: "again", Path: "/sitemap.xml", Header: map[string]string{"If-None-Match": answer.Header.Get("ETag")}, Status: 304},
		{Name: "its only part", Path: "/sitemap/1.xml", Status: 200, WantBody: []string{"<urlset"}},
		{Name: "another part", Path: "/sitemap/2.xml", Status: 404},
		{Name: "no part", Path: "/sitemap/0.xml", Status: 404},
		{Name: "large number", Path: "/sitemap/9223372036854775807.xml", Status: 404},
		{Name: "robots", Path: "/robots.txt", Status: 200, WantBody: []string{"Sitemap: https://catalog.example.com/sitemap.xml", "Disallow: /admin"}},
	})
}

func TestFeedIDsAreStable(t *testing.T) {
	a := newApp(t)
	type feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Updated string   `xml:"updated"`
		Entries []struct {
			ID      string `xml:"id"`
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
		} `xml:"entry"`
	}
	read := func() feed {
		var f feed
		if err := xml.Unmarshal([]byte(get(t, a, "/feed.atom", 200).Body), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	before := read()
	if len(before.Entries) != 50 || before.Updated == "" {
		t.Fatalf("feed has %d entries, updated %q", len(before.Entries), before.Updated)
	}
	ids := map[string]bool{}
	for _, e := range before.Entries {
		if !strings.HasPrefix(e.ID, "urn:uuid:") || ids[e.ID] || e.Title == "" || e.Updated == "" {
			t.Errorf("entry %+v", e)
		}
		ids[e.ID] = true
	}
	first := a.Services.Catalog.AllEntries()[0]
	if err := a.Services.CatalogStore.SetFeatured(t.Context(), first.ID, false); err != nil {
		t.Fatal(err)
	}
	for _, e := range read().Entries {
		if !ids[e.ID] {
			t.Errorf("unexpected new entry %s", e.ID)
		}
	}
}
