package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/secrets"
)

// signInForm is a sign-in attempt through a proxy at the server's peer. The
// proxy appends the browser's address to the X-Forwarded-For of the browser.
type signInForm struct {
	email, password string
	sent            string // X-Forwarded-For of the browser
	from            string // address of the browser
	device          string
}

// post returns the status, and the cookies by name.
func (f signInForm) post(t *testing.T, a *routestest.App) (int, map[string]*http.Cookie) {
	t.Helper()
	form := url.Values{"email": {f.email}, "password": {f.password}}
	r := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("X-Forwarded-For", strings.TrimPrefix(f.sent+", "+f.from, ", "))
	if f.device != "" {
		r.AddCookie(&http.Cookie{Name: "device", Value: f.device})
	}
	answer, err := a.Test(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cookies := map[string]*http.Cookie{}
	for _, c := range answer.Cookies() {
		cookies[c.Name] = c
	}
	return answer.StatusCode, cookies
}

// withPeople returns an application behind a trusted proxy with accounts that
// share a password.
func withPeople(t *testing.T, emails ...string) *routestest.App {
	t.Helper()
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32")
	for _, email := range emails {
		if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: email, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestForgedAddressesShareSignInLimit(t *testing.T) {
	const guesses = 45
	a := withPeople(t, "ada@example.com")
	judged := 0
	for n := range guesses {
		// One password for each of many accounts, each with another forged
		// address.
		status, _ := signInForm{email: fmt.Sprintf("person%d@example.com", n), password: "wrong", sent: fmt.Sprintf("203.0.113.%d", n), from: "192.0.2.1"}.post(t, a)
		if status == http.StatusUnprocessableEntity {
			judged++
		}
	}
	t.Logf("%d of %d guesses were verified", judged, guesses)
	if judged != attempts.MaxPerAddress {
		t.Errorf("%d of %d guesses were verified, want %d", judged, guesses, attempts.MaxPerAddress)
	}
	if status, _ := (signInForm{email: "ada@example.com", password: password, from: "203.0.113.1"}).post(t, a); status != http.StatusSeeOther {
		t.Errorf("owner of a forged address: status %d", status)
	}
}

func TestWrongPasswordsElsewhereDontLockOut(t *testing.T) {
	a := withPeople(t, "ada@example.com")
	ada := signInForm{email: "ada@example.com", password: password, from: "192.0.2.1"}
	status, cookies := ada.post(t, a)
	if status != http.StatusSeeOther {
		t.Fatal(status)
	}
	device := cookies["device"]
	if device == nil || !device.HttpOnly || device.SameSite != http.SameSiteLaxMode || device.Path != "/" || device.MaxAge != int(attempts.DeviceLifetime.Seconds()) || device.Secure {
		t.Fatalf("device cookie = %+v", device)
	}
	for n := range attempts.MaxPerPair + 1 {
		status, _ = signInForm{email: "ada@example.com", password: "wrong", from: "198.51.100.1"}.post(t, a)
		if want := map[bool]int{false: http.StatusUnprocessableEntity, true: http.StatusTooManyRequests}[n == attempts.MaxPerPair]; status != want {
			t.Fatalf("attempt %d: %d, want %d", n+1, status, want)
		}
	}
	if status, _ = ada.post(t, a); status != http.StatusSeeOther {
		t.Errorf("another address: status %d", status)
	}
	for n := range attempts.MaxPerAccount {
		signInForm{email: "ada@example.com", password: "wrong", from: fmt.Sprintf("198.51.100.%d", 2+n/attempts.MaxPerPair)}.post(t, a)
	}
	if status, _ = ada.post(t, a); status != http.StatusTooManyRequests {
		t.Errorf("above the limit of the account: status %d", status)
	}
	ada.device = device.Value
	if status, _ = ada.post(t, a); status != http.StatusSeeOther {
		t.Errorf("known browser: status %d", status)
	}
}
