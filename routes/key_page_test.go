package routes_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

var keyText = regexp.MustCompile(`gwk_[0-9A-Za-z]{36}`)

func TestKeyShownOnce(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	if made.Status != http.StatusSeeOther || !strings.HasPrefix(made.Location, keysForm+"/") || keyText.MatchString(made.Body+made.Location) {
		t.Fatalf("form: %d %q", made.Status, made.Location)
	}
	carried := w.cookies["shown"]
	if carried == "" || strings.Contains(carried, "gwk_") {
		t.Fatalf("cookie contains %q", carried)
	}
	first := w.send(t, made.Location, nil)
	key := keyText.FindString(first.Body)
	if first.Status != http.StatusOK || key == "" {
		t.Fatalf("key page: status %d", first.Status)
	}
	again := w.send(t, made.Location, nil)
	if again.Status != http.StatusOK || keyText.MatchString(again.Body) || !strings.Contains(again.Body, "This key was shown once") || !strings.Contains(again.Body, key[:8]) {
		t.Errorf("loaded again: status %d with key %q", again.Status, keyText.FindString(again.Body))
	}
	w.wantKeys(t, 1)
}

func TestKeyShownOnlyToItsSession(t *testing.T) {
	w := newFormWorld(t)
	made := w.post(t, keysForm, newKeyForm())
	other := newBrowser(t, w.App)
	other.cookies["shown"] = w.cookies["shown"]
	if got := other.send(t, made.Location, nil); got.Status != http.StatusOK || keyText.MatchString(got.Body) {
		t.Errorf("another session: status %d with key %q", got.Status, keyText.FindString(got.Body))
	}
	second := w.post(t, keysForm, newKeyForm())
	here := &browser{App: w.App, cookies: maps.Clone(w.cookies)}
	if got := here.send(t, made.Location, nil); keyText.MatchString(got.Body) {
		t.Errorf("page of another key contains %q", keyText.FindString(got.Body))
	}
	request := httptest.NewRequest(http.MethodHead, second.Location, nil)
	request.Host = "127.0.0.1:8080"
	for name, value := range w.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "shown" {
			t.Error("HEAD consumes the key")
		}
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
	w.Key(t, "p", 0)
	body := w.send(t, keysForm, nil).Body
	chosen := regexp.MustCompile(`<option value="([^"]*)" selected`).FindAllStringSubmatch(body, -1)
	if len(chosen) == 0 || chosen[len(chosen)-1][1] != "0s" || !strings.Contains(body, "Stop working now") {
		t.Errorf("chosen: %v", chosen)
	}
}
