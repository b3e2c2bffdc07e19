package public_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web/webtest"
)

var image = regexp.MustCompile(`<(?:img|source|image|link)\b[^>]*?(?:src|srcset|href)="([^"]*)"`)

// pictured returns an entry whose tile has an icon, and its path. Every icon of
// the catalog is stored as content.
func pictured(t *testing.T, a *routestest.App, content string) (*models.CatalogEntry, string) {
	t.Helper()
	var found *models.CatalogEntry
	stored := map[string]bool{}
	for _, e := range a.Services.Catalog.AllEntries() {
		if e.IconURL == "" || stored[e.IconURL] {
			continue
		}
		stored[e.IconURL] = true
		key, hash := sha256.Sum256([]byte(e.IconURL)), sha256.Sum256([]byte(content))
		row := models.CatalogIcon{URLHash: hex.EncodeToString(key[:]), URL: e.IconURL, Hash: hex.EncodeToString(hash[:]), PNG: []byte(content), TriedAt: time.Now()}
		if err := a.Services.DB.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		if found == nil && e.RemoteURL != "" && ui.LogoPath(e.ServerTitle) == "" {
			found = e
		}
	}
	if found == nil {
		t.Fatal("no entry has an icon without a logo")
	}
	if err := a.Services.CatalogIcons.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(content))
	return found, "/icons/" + hex.EncodeToString(hash[:]) + ".png"
}

func TestIcons(t *testing.T) {
	a := newApp(t, "GATEWAY_CATALOG_ICONS=true")
	e, icon := pictured(t, a, "\x89PNG icon")
	path := public.CatalogEntry{CatalogEntry: e}.Path()
	if err := a.Services.CatalogStore.SetFeatured(t.Context(), e.ID, true); err != nil {
		t.Fatal(err)
	}
	a.Apply(t, `{"projects":{"team":{"authMode":"none","mcpServers":{"zz":{"url":"`+e.RemoteURL+`/","enabled":false}}}}}`)
	cookie, _ := administrator(t, a)
	for _, page := range []string{"/registry?query=" + url.QueryEscape("publisher:"+e.PublisherName), path, "/registry?query=featured:true", "/admin/projects/team/servers"} {
		body := get(t, a, page, 200, "Cookie", cookie).Body
		if !strings.Contains(body, `<img src="`+icon+`" alt=""`) {
			t.Errorf("%s lacks the icon", page)
		}
		for _, m := range image.FindAllStringSubmatch(body, -1) {
			if strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "//") || strings.HasPrefix(m[1], "http://127.0.0.1:8080") || strings.HasPrefix(m[1], "data:") {
				continue
			}
			t.Errorf("%s loads %s", page, m[1])
		}
	}
	if home := get(t, a, "/", 200).Body; !strings.Contains(home, `<img src="`+icon+`"`) {
		t.Error("the start page lacks the icon")
	}
	first := get(t, a, icon, 200)
	webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{
		"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff", "Content-Encoding": "",
	}}, first)
	if first.Body != "\x89PNG icon" {
		t.Errorf("the icon is %q", first.Body)
	}
	if again := get(t, a, icon, 304, "If-None-Match", first.Header.Get("ETag")); again.Body != "" {
		t.Error("body sent again")
	}
	for _, path := range []string{"/icons/" + strings.Repeat("0", 64) + ".png", "/icons/x.png", strings.TrimSuffix(icon, ".png"), icon + ".png", "/icons/..%2f.png", "/icons/.png"} {
		if answer := get(t, a, path, 404, "If-None-Match", "*"); strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is cached: %v", path, answer.Header)
		}
	}
}

func TestIconsAreOff(t *testing.T) {
	a := newApp(t) // with the setting of the tests
	if a.Services.CatalogIcons != nil {
		t.Fatal("icons are on")
	}
	if body := get(t, a, "/registry?works=0", 200).Body; strings.Contains(body, "<img") || !strings.Contains(body, `class="tile letter`) {
		t.Error("the list has images, or no initials")
	}
	get(t, a, "/icons/"+strings.Repeat("0", 64)+".png", 404)
}
