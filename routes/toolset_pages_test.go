package routes_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

func TestToolsetPages(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.NewAdminOn(t, dsn)
		const list = "/admin/projects/p/toolsets"
		page := func(path string, status int, want ...string) string {
			t.Helper()
			got, body, _ := a.Send(t, path, nil)
			text := regexp.MustCompile(`\s+`).ReplaceAllString(body, " ")
			if got != status {
				t.Fatalf("%s: status %d", path, got)
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s lacks %q", path, w)
				}
			}
			return text
		}
		page(list, 200, "No toolsets yet", "A toolset is a part of this project", "its own endpoint")
		form := url.Values{"name": {"The Reader"}, "query": {"issues"}}
		if status, body, _ := a.Send(t, list, form); status != 422 || !strings.Contains(body, "Only filters select") || !strings.Contains(body, "Fix the error") || !strings.Contains(body, "The Reader") {
			t.Errorf("wrong query: status %d", status)
		}
		if status, body, _ := a.Send(t, list+"/new/preview", url.Values{"query": {"server:clock readonly:true"}}); status != 200 || !strings.Contains(body, "clock__current_time") || !strings.Contains(body, "This is what the server says of its tools.") {
			t.Errorf("preview: status %d", status)
		}
		form = url.Values{"name": {"The Reader"}, "include": {"clock__*\n"}, "exclude": {"clock__x\r\n"}, "offersOf": {"clock", "*"}}
		status, body, to := a.Send(t, list, form)
		if status != 303 || !strings.HasPrefix(to, list+"/") {
			t.Fatalf("create: status %d to %q: %s", status, to, body)
		}
		text := page(to, 200, "/v1/mcp/p/toolsets/the-reader/request", "clock__current_time", "Not used yet")
		count := regexp.MustCompile(`\d+ of \d+ tools`).FindString(text)
		const newKey = "/admin/projects/p/keys/new?toolset="
		if !strings.Contains(text, `href="`+newKey+`the-reader"`) {
			t.Error("page has no link to a new key")
		}
		keyForm := page(newKey+"the-reader", 200, `value="toolsets" checked`)
		if box := regexp.MustCompile(`<input[^>]*name="toolset:the-reader"[^>]*>`).FindString(keyForm); !strings.Contains(box, " checked") {
			t.Errorf("box of the toolset: %q", box)
		}
		page(newKey+"the-writer", 404)
		page(newKey, 200, `value="everything" checked`)
		page(list, 200, "The Reader", count)
		edit := page(to+"/edit", 200, "clock__*", `value="clock" checked`)
		seen := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(edit)
		if len(seen) == 0 {
			t.Fatal("the form has no fingerprint")
		}
		form.Set("seen", "older")
		if status, body, _ := a.Send(t, to, form); status != 422 || !strings.Contains(body, "changed after you opened the page") {
			t.Errorf("stale form: status %d", status)
		}
		form.Set("seen", seen[1])
		form.Set("name", "Reader")
		if status, _, _ := a.Send(t, to, form); status != 303 {
			t.Errorf("save: status %d", status)
		}
		id := to[strings.LastIndexByte(to, '/')+1:]
		keyID, _ := a.Key(t, "p", 0)
		if err := a.Services.DB.Model(&models.Key{}).Where("id = ?", keyID).Updates(map[string]any{"name": "Laptop", "scope": models.KeyToolsets}).Error; err != nil {
			t.Fatal(err)
		}
		if err := a.Services.DB.Create(&models.KeyToolset{KeyID: keyID, ToolsetID: id}).Error; err != nil {
			t.Fatal(err)
		}
		page(to, 200, "1 key has no other toolset and will be revoked: Laptop.", `name="force" value="true"`)
		page(list, 200, "1 key")
		if status, _, back := a.Send(t, to+"/delete", url.Values{}); status != 303 || back != to {
			t.Errorf("deletion without the confirmation: status %d to %q", status, back)
		}
		if status, body, _ := a.Send(t, to+"/delete", url.Values{"force": {"true"}, "confirm": {"reader"}}); status != 422 || !strings.Contains(body, "Type the-reader exactly.") {
			t.Errorf("wrong confirmation: status %d", status)
		}
		if status, _, back := a.Send(t, to+"/delete", url.Values{"force": {"true"}, "confirm": {"the-reader"}}); status != 303 || back != list {
			t.Errorf("confirmed deletion: status %d to %q", status, back)
		}
		page(to, 404)
		var key models.Key
		if err := a.Services.DB.First(&key, "id = ?", keyID).Error; err != nil || key.RevokedAt == nil {
			t.Errorf("the key is not revoked: %v", err)
		}
	})
}
