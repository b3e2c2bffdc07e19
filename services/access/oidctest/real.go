// Package oidctest provides identity providers for tests: the npm package
// oidc-provider, and a fake one that can misbehave.
package oidctest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Registration of the gateway at both providers.
const (
	ClientID     = "gateway"
	ClientSecret = "the-secret-of-the-gateway-at-its-provider"
	RedirectURL  = "http://127.0.0.1:8080/login/callback"
)

const startLimit = 60 * time.Second

// Start runs the npm package oidc-provider until the test ends and returns its
// issuer. It requires node in PATH and the module's node_modules.
func Start(t testing.TB) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("runtime.Caller failed")
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	script := exec.Command("node", filepath.Join(filepath.Dir(here), "provider.mjs")) //nolint:gosec // the script is part of this package
	script.Env = append(os.Environ(), "CLIENT_ID="+ClientID, "CLIENT_SECRET="+ClientSecret, "REDIRECT_URI="+RedirectURL)
	said := &strings.Builder{}
	script.Stderr = said
	out, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		t.Fatalf("start identity provider: %v", err)
	}
	t.Cleanup(func() {
		_ = script.Process.Signal(syscall.SIGTERM)
		if err := script.Wait(); err != nil && script.ProcessState.ExitCode() > 0 {
			t.Errorf("identity provider exited: %v", err)
		}
		if t.Failed() {
			t.Logf("identity provider output:\n%s", said)
		}
	})
	stop := context.AfterFunc(ctx, func() { _ = script.Process.Kill() })
	defer stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if issuer, found := strings.CutPrefix(lines.Text(), "READY "); found {
			return issuer
		}
	}
	t.Fatal("identity provider not started: is npm's oidc-provider installed?")
	return ""
}

// SetClaims sets further claims of a login at the provider that Start returned,
// in its ID tokens and in its user info.
func SetClaims(t testing.TB, issuer, login string, token, info map[string]any) {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"id_token": token, "userinfo": info})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/claims?"+url.Values{"login": {login}, "claims": {string(claims)}}.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("set claims: status %d", resp.StatusCode)
	}
}

// Browser is a browser with a cookie jar.
type Browser struct{ client *http.Client }

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &Browser{&http.Client{Transport: transport, Jar: jar, Timeout: startLimit, CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(next.URL.String(), RedirectURL) {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)" method="post">`)

// SignIn follows an authorization URL, enters login into every form and
// approves everything, and returns the query of the callback.
func (b *Browser) SignIn(t testing.TB, authorizeURL, login string) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, authorizeURL, nil)
	for range 10 {
		if err != nil {
			t.Fatal(err)
		}
		at, page := b.open(t, r)
		if at == nil {
			t.Fatalf("no response from the provider:\n%s", page)
		}
		if strings.HasPrefix(at.String(), RedirectURL) {
			return at.Query()
		}
		form := url.Values{"prompt": {"consent"}}
		if strings.Contains(page, `name="login"`) {
			form = url.Values{"prompt": {"login"}, "login": {login}, "password": {"anything"}}
		}
		action := formAction.FindStringSubmatch(page)
		if action == nil {
			t.Fatalf("no form at %s:\n%s", at, page)
		}
		target, parseErr := at.Parse(html.UnescapeString(action[1]))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, target.String(), strings.NewReader(form.Encode()))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	t.Fatal(errors.New("too many forms"))
	return nil
}

// open sends a request and returns the final URL and page.
func (b *Browser) open(t testing.TB, r *http.Request) (*url.URL, string) {
	t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := resp.Location(); err == nil {
		return target, string(page)
	}
	return resp.Request.URL, string(page)
}
