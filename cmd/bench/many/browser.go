package many

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// maxPage is the maximum size of a page in bytes.
const maxPage = 64 << 20

// browser is a signed-in administrator. Pages aren't compressed.
type browser struct {
	base string
	http *http.Client
}

// signIn opens a session at the gateway.
func signIn(ctx context.Context, address, email, password string) (*browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	b := &browser{base: "http://" + address, http: &http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true}}}
	form := url.Values{"email": {email}, "password": {password}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", b.base)
	response, err := b.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Request.URL.Path, "/admin") {
		return nil, fmt.Errorf("sign in: status %d at %s", response.StatusCode, response.Request.URL.Path)
	}
	return b, nil
}

// get returns a page and the time until its last byte.
func (b *browser) get(ctx context.Context, path string) ([]byte, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	response, err := b.http.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", path, response.StatusCode)
	}
	return body, time.Since(begin), err
}
