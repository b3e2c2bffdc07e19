package oauth_test

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/conn"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const password = "a pass phrase of these tests only"

// site is a running gateway with a listener, the projects pub, key, oa and ob,
// and the users ann (administrator) and bob (member).
type site struct {
	*routestest.App
	base string
}

// newSite starts a gateway. documents replaces the network of client metadata
// documents; nil means the real one.
func newSite(t *testing.T, dsn string, documents http.RoundTripper) *site {
	t.Helper()
	return newSiteWithClock(t, &routestest.Clock{}, dsn, documents)
}

// newSiteWithClock is newSite with a clock and additional settings.
func newSiteWithClock(t *testing.T, clock *routestest.Clock, dsn string, documents http.RoundTripper, settings ...string) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{base: "http://" + listener.Addr().String()}
	s.App = routestest.NewWithClock(t, clock, dsn, append(settings, "GATEWAY_ADDR="+listener.Addr().String())...)
	if documents != nil {
		c := s.Services.Config
		s.Services.OAuth = oauthserver.New(oauthserver.Options{
			DB: s.Services.DB, Issuer: c.PublicURL, Audit: s.Services.Audit, Feed: noFeed{}, Rights: s.Services.Rights, Sealer: c.Keys, Documents: documents, Now: time.Now,
		})
		s.App.App = routes.New(s.Services, slog.New(slog.NewJSONHandler(s.Log, nil)))
	}
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(3)})
	server := `"mcpServers":{"up":{"url":"` + up.Start(t) + `"}}`
	s.Apply(t, `{"projects":{"pub":{"authMode":"none"},"key":{"authMode":"api_key"},"oa":{"authMode":"oauth","name":"Project A",`+server+`},"ob":{"authMode":"oauth",`+server+`}}}`)
	s.Sync(t, "oa", "up")
	s.Sync(t, "ob", "up")
	for email, role := range map[string]models.Role{"ann@example.com": models.RoleAdmin, "bob@example.com": models.RoleMember} {
		if _, err := s.Services.People.Create(t.Context(), access.NewUser{Email: email, Role: role, Password: secrets.NewValue(password)}); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := s.ShutdownWithTimeout(30 * time.Second); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// noFeed publishes nothing.
type noFeed struct{}

func (noFeed) Publish(context.Context, ...notify.Topic) error { return nil }

// onSQLite is newSite on a new SQLite database.
func onSQLite(t *testing.T) *site {
	t.Helper()
	return newSite(t, modelstest.SQLite(t), nil)
}

// browser is a user's browser: it stores cookies, follows redirects within the
// gateway, and submits forms.
type browser struct {
	*http.Client
	site *site
}

// signIn returns a browser in which the user has signed in.
func (s *site) signIn(t *testing.T, email string) *browser {
	t.Helper()
	b := s.open(t)
	signed, err := s.Services.People.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: "127.0.0.1", UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	home, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	b.Jar.SetCookies(home, []*http.Cookie{{Name: "sid", Value: signed.Cookie.Reveal(), Path: "/"}})
	return b
}

// open returns a browser without a session.
func (s *site) open(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{site: s, Client: &http.Client{
		Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// response is a response with its body.
type response struct {
	status   int
	header   http.Header
	body     string
	location string
}

func (b *browser) do(ctx context.Context, method, address string, form url.Values, headers ...string) (response, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return response{}, err
	}
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.site.base)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	resp, err := b.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return response{resp.StatusCode, resp.Header, string(body), resp.Header.Get("Location")}, err
}

func (b *browser) get(t *testing.T, address string, headers ...string) response {
	t.Helper()
	a, err := b.do(t.Context(), http.MethodGet, address, nil, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (b *browser) post(t *testing.T, address string, form url.Values, headers ...string) response {
	t.Helper()
	a, err := b.do(t.Context(), http.MethodPost, address, form, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)"`)

// formOf returns the hidden fields of a page.
func formOf(page string) url.Values {
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	return form
}

// allow opens an authorization request, allows it, and returns the redirect
// URL. It may run in a separate goroutine.
func (b *browser) allow(ctx context.Context, address string) (string, error) {
	page, err := b.do(ctx, http.MethodGet, address, nil)
	if err != nil || page.status != http.StatusOK {
		return "", &unexpected{page, err}
	}
	form := formOf(page.body)
	form.Set("decision", "allow")
	done, err := b.do(ctx, http.MethodPost, b.site.base+"/oauth/authorize", form)
	if err != nil || done.status != http.StatusSeeOther {
		return "", &unexpected{done, err}
	}
	return done.location, nil
}

type unexpected struct {
	response
	err error
}

func (u *unexpected) Error() string {
	if u.err != nil {
		return u.err.Error()
	}
	return "status " + http.StatusText(u.status) + ": " + u.body
}
