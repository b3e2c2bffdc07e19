package routes_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
)

var keyText = regexp.MustCompile(`gwk_[0-9A-Za-z]{36}`)

func TestKeyShownUntilDone(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	if made.Status != http.StatusSeeOther || !strings.HasPrefix(made.Location, keysForm+"/") || keyText.MatchString(made.Body+made.Location) {
		t.Fatalf("form: %d %q", made.Status, made.Location)
	}
	carried := w.cookies["once"]
	if carried == "" || strings.Contains(carried, "gwk_") {
		t.Fatalf("cookie contains %q", carried)
	}
	first := w.send(t, made.Location, nil)
	key := keyText.FindString(first.Body)
	if first.Status != http.StatusOK || key == "" {
		t.Fatalf("key page: status %d", first.Status)
	}
	// The key is in the snippets and in no link.
	if n := strings.Count(first.Body, key); n < 8 || strings.Contains(first.Body, "API_KEY") {
		t.Errorf("key page has the key %d times", n)
	}
	for _, link := range regexp.MustCompile(`(?:href|action|src)="[^"]*"`).FindAllString(first.Body, -1) {
		if strings.Contains(link, key[:12]) {
			t.Errorf("link contains the key: %s", link)
		}
	}
	if again := w.send(t, made.Location, nil); keyText.FindString(again.Body) != key {
		t.Error("reload lacks the key")
	}
	w.wantKeys(t, 1)
	done := w.post(t, made.Location+"/done", url.Values{})
	if done.Status != http.StatusSeeOther || done.Location != keysForm || w.cookies["once"] != "" {
		t.Errorf("done: %d %q, cookie %q", done.Status, done.Location, w.cookies["once"])
	}
	later := w.send(t, made.Location, nil)
	if later.Status != http.StatusOK || keyText.MatchString(later.Body) || !strings.Contains(later.Body, "This key was shown once") || !strings.Contains(later.Body, key[:8]) {
		t.Errorf("after Done: status %d with key %q", later.Status, keyText.FindString(later.Body))
	}
	for _, form := range []string{"rotate", "revoke", "done"} {
		if got := w.send(t, made.Location+"/"+form, nil); got.Status != http.StatusSeeOther || got.Location != made.Location {
			t.Errorf("GET %s: %d %q", form, got.Status, got.Location)
		}
	}
}

func TestRevokedKeyIsNotShown(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	if got := w.post(t, made.Location+"/revoke", url.Values{}); got.Location != keysForm {
		t.Fatalf("revoke: %d %q", got.Status, got.Location)
	}
	if got := w.send(t, made.Location, nil); got.Status != http.StatusOK || keyText.MatchString(got.Body) || !strings.Contains(got.Body, "Revoked") {
		t.Errorf("revoked key: status %d with key %q", got.Status, keyText.FindString(got.Body))
	}
}

func TestKeyShownOnlyToItsSession(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	other := newBrowser(t, w.App)
	other.cookies["once"] = w.cookies["once"]
	if got := other.send(t, made.Location, nil); got.Status != http.StatusOK || keyText.MatchString(got.Body) {
		t.Errorf("another session: status %d with key %q", got.Status, keyText.FindString(got.Body))
	}
	second := w.post(t, keysForm, newKeyForm())
	here := &browser{App: w.App, cookies: maps.Clone(w.cookies)}
	if got := here.send(t, made.Location, nil); keyText.MatchString(got.Body) {
		t.Errorf("page of another key contains %q", keyText.FindString(got.Body))
	}
	if got := w.send(t, second.Location, nil); !keyText.MatchString(got.Body) {
		t.Error("page lacks its key")
	}
	if got := w.send(t, keysForm+"/no-such-key", nil); got.Status != http.StatusNotFound {
		t.Errorf("unknown key: status %d", got.Status)
	}
}

func TestRotationRevokesOldKey(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	body := w.send(t, made.Location+"?do=rotate", nil).Body
	if keyText.MatchString(body) {
		t.Error("dialog comes with the key")
	}
	chosen := regexp.MustCompile(`<option value="([^"]*)" selected`).FindAllStringSubmatch(body, -1)
	if len(chosen) == 0 || chosen[len(chosen)-1][1] != "0s" || !strings.Contains(body, "Stop working now") {
		t.Errorf("chosen: %v", chosen)
	}
	next := w.post(t, made.Location+"/rotate", url.Values{"grace": {"1h"}})
	if page := w.send(t, next.Location, nil).Body; !keyText.MatchString(page) || !strings.Contains(page, "The old key works until") {
		t.Error("page of the successor lacks its key or the end of the old one")
	}
	list := w.send(t, keysForm, nil).Body
	for _, want := range []string{"Replaced by", "Replaces", "Replaced · works 1 h more"} {
		if !strings.Contains(list, want) {
			t.Errorf("list lacks %q", want)
		}
	}
}

func TestKeyFilters(t *testing.T) {
	w := newFormWorld(t)
	_, used := w.Key(t, "p", 0)
	w.post(t, keysForm, url.Values{"name": {"Unused one"}, "expires": {"never"}})
	gone := w.post(t, keysForm, url.Values{"name": {"Revoked one"}, "expires": {"30"}})
	w.post(t, gone.Location+"/revoke", url.Values{})
	w.call(t, used, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if err := w.Services.KeyIndex.SaveUse(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]bool{"": {true, false}, "?show=unused": {true, false}, "?show=expired": {false, true}, "?show=nonsense": {true, false}} {
		body := w.send(t, keysForm+query, nil).Body
		if strings.Contains(body, "Unused one") != want[0] || strings.Contains(body, "Revoked one") != want[1] {
			t.Errorf("%q shows other keys", query)
		}
	}
	if body := w.send(t, keysForm, nil).Body; !strings.Contains(body, "Show 1 expired key") || !strings.Contains(body, "Active 2") || !strings.Contains(body, "Unused 1") {
		t.Error("list lacks its filters")
	}
}

func TestFirstUseTurnsGreen(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	page := w.send(t, made.Location, nil).Body
	if !strings.Contains(page, "Waiting for the first call…") || !strings.Contains(page, "topics=key%3A") {
		t.Fatal("page doesn't wait for the first call")
	}
	key := keyText.FindString(page)
	w.call(t, key, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","title":"Claude <Code>","version":"2.1"}}}`)
	page = w.send(t, made.Location, nil).Body
	if !strings.Contains(page, "Waiting for the first call…") || !strings.Contains(page, "Claude &lt;Code&gt; 2.1 is using this key.") || strings.Count(page, "not yet") != 2 {
		t.Error("page lacks initialize")
	}
	w.call(t, key, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if page = w.send(t, made.Location, nil).Body; strings.Count(page, "not yet") != 1 {
		t.Error("page lacks tools/list")
	}
	w.call(t, key, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"time"}}}`)
	page = w.send(t, made.Location, nil).Body
	for _, want := range []string{"Connected", "searchMcpForTask", "See the call", "Go to overview"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(page, "Nothing happening?") || strings.Contains(page, "topics=key%3A") {
		t.Error("page still waits")
	}
}

// TestFirstUseInOtherProcess serves the client in another process than the page:
// the database has the first use and the call.
func TestFirstUseInOtherProcess(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	id := made.Location[strings.LastIndex(made.Location, "/")+1:]
	at := time.Now()
	if err := w.Services.DB.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", at).Error; err != nil {
		t.Fatal(err)
	}
	if page := w.send(t, made.Location, nil).Body; !strings.Contains(page, "Waiting for the first call…") || strings.Count(page, "not yet") != 2 {
		t.Error("page lacks the first use")
	}
	call := models.Call{ID: "f0000000-0000-7000-8000-000000000001", At: at, ProjectID: w.project.ID, Principal: "key:" + id, Tool: "clock__now", DurationUS: 118_000, Outcome: models.CallOK}
	if err := w.Services.DB.Create(&call).Error; err != nil {
		t.Fatal(err)
	}
	page := w.send(t, made.Location, nil).Body
	for _, want := range []string{"Connected", "118 ms"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

// call posts a message to the endpoint of project p with a key.
func (w *formWorld) call(t *testing.T, key, message string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/v1/mcp/p/request", strings.NewReader(message))
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", message, answer.StatusCode)
	}
}
