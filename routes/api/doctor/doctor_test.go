package doctor_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/doctor"
)

// setup is a broken proxy in front of the gateway.
type setup struct {
	name     string
	origin   string // of a client in a browser
	request  func(*http.Request)
	response func(*http.Response) error
	handle   http.HandlerFunc // instead of the gateway; may be nil
	step     string           // that fails
	fix      string           // part of its fix
}

// world is a gateway behind a proxy.
type world struct {
	*routestest.App
	broken atomic.Pointer[setup]
	public *url.URL
}

const project = `{"projects":{
	"open":{"authMode":"none"},
	"keyed":{"authMode":"api_key","toolsets":{"small":{"query":"name:a"}}},
	"people":{"authMode":"oauth"}
}}`

// newWorld starts a gateway whose public URL is that of a proxy.
func newWorld(t *testing.T, dsn string, settings ...string) *world {
	t.Helper()
	w := &world{}
	w.broken.Store(&setup{})
	var backend *url.URL
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		now := w.broken.Load()
		if now.handle != nil {
			now.handle(out, in)
			return
		}
		(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(backend)
				r.Out.Host = r.In.Host
				r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
				if now.request != nil {
					now.request(r.Out)
				}
			},
			ModifyResponse: func(r *http.Response) error {
				if now.response != nil {
					return now.response(r)
				}
				return nil
			},
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		}).ServeHTTP(out, in)
	}))
	w.public = &url.URL{Scheme: "http", Host: proxy.Listener.Addr().String()}
	w.App = routestest.New(t, dsn, append([]string{"GATEWAY_PUBLIC_URL=" + w.public.String()}, settings...)...)
	w.Apply(t, project)
	base, err := url.Parse(w.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	backend = base
	proxy.Start()
	t.Cleanup(proxy.Close)
	return w
}

func (w *world) run(t *testing.T, d *doctor.Doctor, slug string, asked doctor.Request) []doctor.Step {
	t.Helper()
	at, err := w.Services.Views.Endpoint(slug, "")
	if err != nil {
		t.Fatal(err)
	}
	asked.At = at
	var reported []doctor.Step
	steps, err := d.Run(t.Context(), asked, func(s doctor.Step) { reported = append(reported, s) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(steps, reported) {
		t.Errorf("reported %v, want %v", reported, steps)
	}
	return steps
}

// text returns the steps, each in a line.
func text(steps []doctor.Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.ID + " " + string(s.Status) + ": " + s.Detail + " " + s.Fix + "\n")
	}
	return b.String()
}

func failed(steps []doctor.Step) (ids []string) {
	for _, s := range steps {
		if s.Status == doctor.Failed {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// rows returns the number of rows that the doctor could have left.
func (w *world) rows(t *testing.T) (n int64) {
	t.Helper()
	for _, model := range []any{&models.Key{}, &models.OAuthClient{}, &models.OAuthCode{}, &models.OAuthGrant{}, &models.OAuthToken{}, &models.RefusedRequest{}} {
		var found int64
		if err := w.Services.DB.Model(model).Count(&found).Error; err != nil {
			t.Fatal(err)
		}
		n += found
	}
	return n
}

func TestHealthyEndpointsPass(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "GATEWAY_ALLOWED_ORIGINS=https://app.example.com")
		user := w.Person(t, "Ada")
		for slug, want := range map[string]string{
			"open":   "public-url connect redirects gateway host origin proxy authorization clock challenge initialize tools stream",
			"keyed":  "public-url connect redirects gateway host origin proxy authorization clock challenge key initialize tools stream cleanup",
			"people": "public-url connect redirects gateway host origin proxy authorization clock challenge resource-metadata server-metadata registration pkce token initialize tools stream cleanup",
		} {
			steps := w.run(t, w.Services.Doctor, slug, doctor.Request{Origin: "https://app.example.com", UserID: user})
			var passed []string
			for _, s := range steps {
				if s.Status == doctor.OK {
					passed = append(passed, s.ID)
				}
			}
			if got := strings.Join(passed, " "); got != want {
				t.Errorf("%s passed %q, want %q:\n%s", slug, got, want, text(steps))
			}
		}
		if n := w.rows(t); n != 0 {
			t.Errorf("%d rows left, want none", n)
		}
		var ran int64
		if err := w.Services.DB.Model(&models.AuditEntry{}).Where("action = ?", "doctor.finished").Count(&ran).Error; err != nil || ran != 3 {
			t.Errorf("%d runs in the audit log (%v), want 3", ran, err)
		}
	})
}

func TestBrokenStepIsNamed(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	for _, tt := range []setup{
		{
			name: "redirecting public URL", step: "redirects", fix: "Set GATEWAY_PUBLIC_URL",
			handle: func(out http.ResponseWriter, in *http.Request) {
				http.Redirect(out, in, "https://www.example.com"+in.URL.Path, http.StatusPermanentRedirect)
			},
		},
		{name: "untrusted proxy", step: "proxy", fix: "Set GATEWAY_TRUSTED_PROXIES=127.0.0.1", request: func(r *http.Request) { r.Header.Add("X-Forwarded-For", "198.51.100.7") }},
		{name: "origin not configured", step: "origin", fix: "Add https://app.example.com to GATEWAY_ALLOWED_ORIGINS", origin: "https://app.example.com"},
		{name: "missing Origin", step: "origin", fix: "pass the Origin header", request: func(r *http.Request) { r.Header.Del("Origin") }},
		{name: "stripped Authorization", step: "authorization", fix: "proxy_set_header Authorization", request: func(r *http.Request) { r.Header.Del("Authorization") }},
		{name: "wrong Host", step: "host", fix: "add backend.internal to GATEWAY_ALLOWED_HOSTS", request: func(r *http.Request) { r.Host = "backend.internal:9000" }},
		{name: "clock skew", step: "clock", fix: "NTP", response: func(r *http.Response) error {
			r.Header.Set("Date", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
			return nil
		}},
		{name: "buffering proxy", step: "stream", fix: "proxy_buffering off", response: func(r *http.Response) error {
			whole, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(whole)))
			return err
		}},
		{name: "unreachable gateway", step: "gateway", fix: "GATEWAY_ADDR", handle: func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusBadGateway) }},
		{name: "another server", step: "gateway", fix: "/v1/mcp/", handle: func(http.ResponseWriter, *http.Request) {}},
		{name: "removed challenge", step: "challenge", fix: "401", response: func(r *http.Response) error {
			r.Header.Del("WWW-Authenticate")
			return nil
		}},
		{name: "removed session", step: "initialize", fix: "headers", response: func(r *http.Response) error {
			r.Header.Del("Mcp-Session-Id")
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.broken.Store(&tt)
			steps := w.run(t, w.Services.Doctor, "keyed", doctor.Request{Origin: tt.origin})
			if got := failed(steps); !slices.Equal(got, []string{tt.step}) {
				t.Fatalf("failed %v, want %s:\n%s", got, tt.step, text(steps))
			}
			i := slices.IndexFunc(steps, func(s doctor.Step) bool { return s.ID == tt.step })
			if !strings.Contains(steps[i].Fix, tt.fix) {
				t.Errorf("fix %q, want %q", steps[i].Fix, tt.fix)
			}
			if n := w.rows(t); n != 0 {
				t.Errorf("%d rows left, want none", n)
			}
		})
	}
}

func TestBrokenMetadataIsNamed(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	user := w.Person(t, "Ada")
	for path, step := range map[string]string{
		"/.well-known/oauth-protected-resource":   "resource-metadata",
		"/.well-known/oauth-authorization-server": "server-metadata",
		"/oauth/register":                         "registration",
		"/oauth/token":                            "pkce",
	} {
		w.broken.Store(&setup{response: func(r *http.Response) error {
			if strings.HasPrefix(r.Request.URL.Path, path) {
				r.StatusCode, r.Body = http.StatusNotFound, http.NoBody
			}
			return nil
		}})
		steps := w.run(t, w.Services.Doctor, "people", doctor.Request{UserID: user})
		if got := failed(steps); !slices.Equal(got, []string{step}) {
			t.Errorf("%s: failed %v, want %s:\n%s", path, got, step, text(steps))
		}
	}
	w.broken.Store(&setup{})
	steps := w.run(t, w.Services.Doctor, "people", doctor.Request{})
	if got := text(steps); len(failed(steps)) > 0 || !strings.Contains(got, "pkce skipped") || !strings.Contains(got, "initialize skipped") {
		t.Errorf("without a person:\n%s", got)
	}
	if n := w.rows(t); n != 0 {
		t.Errorf("%d rows left, want none", n)
	}
}

// TestTrustedProxyMustAddAddresses has a trusted proxy whose header the gateway
// doesn't read.
func TestTrustedProxyMustAddAddresses(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), "GATEWAY_TRUSTED_PROXIES=127.0.0.1")
	w.broken.Store(&setup{request: func(r *http.Request) { r.Header.Set("X-Real-IP", "198.51.100.7") }})
	steps := w.run(t, w.Services.Doctor, "open", doctor.Request{})
	if got := failed(steps); !slices.Equal(got, []string{"proxy"}) || !strings.Contains(text(steps), "$proxy_add_x_forwarded_for") {
		t.Errorf("failed %v:\n%s", got, text(steps))
	}
	w.broken.Store(&setup{request: func(r *http.Request) { r.Header.Add("X-Forwarded-For", "198.51.100.7") }})
	if steps := w.run(t, w.Services.Doctor, "open", doctor.Request{}); len(failed(steps)) > 0 || !strings.Contains(text(steps), "for 198.51.100.7.") {
		t.Errorf("with X-Forwarded-For:\n%s", text(steps))
	}
}

// TestCleartextPublicURL has a public URL without TLS, whose name leads to the proxy,
// and one whose name doesn't resolve.
func TestCleartextPublicURL(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), "GATEWAY_ALLOWED_HOSTS=gateway.test")
	proxy := w.public.Host
	_, port, _ := net.SplitHostPort(proxy)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if !strings.HasPrefix(address, "gateway.test:") {
			return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
		}
		return (&net.Dialer{}).DialContext(ctx, network, proxy)
	}}}
	visit := func(host string) []doctor.Step {
		s := w.Services
		return w.run(t, doctor.New(doctor.Options{
			DB: s.DB, Audit: s.Audit, Client: client, Public: &url.URL{Scheme: "http", Host: host}, Probes: s.Probes, Keys: s.Keys, OAuth: s.OAuth, Log: slog.Default(), Now: time.Now,
		}), "open", doctor.Request{})
	}
	if steps := visit("gateway.test:" + port); !slices.Equal(failed(steps), []string{"public-url"}) || !strings.Contains(steps[0].Fix, "GATEWAY_PUBLIC_URL=https://gateway.test.") {
		t.Errorf("cleartext:\n%s", text(steps))
	}
	if steps := visit("missing.test"); !slices.Equal(failed(steps), []string{"public-url", "connect"}) || !strings.Contains(steps[1].Fix, "DNS record for missing.test") {
		t.Errorf("unknown name:\n%s", text(steps))
	}
}

func TestRedirectIsLoggedAtStart(t *testing.T) {
	proxy := httptest.NewServer(http.RedirectHandler("https://www.example.com/", http.StatusMovedPermanently))
	defer proxy.Close()
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_PUBLIC_URL="+proxy.URL)
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(a.Log.String(), "public URL redirects"); {
		if time.Now().After(deadline) {
			t.Fatal("no warning about the redirect")
		}
		<-time.After(10 * time.Millisecond)
	}
	if !strings.Contains(a.Log.String(), `"location":"https://www.example.com/"`) {
		t.Error("the warning doesn't name the location")
	}
}

func TestDoctorAPI(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	send := func(body string) (int, string) {
		req := httptest.NewRequest(http.MethodPost, "/api/projects/keyed/doctor", strings.NewReader(body))
		req.Host = w.public.Host
		req.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
		req.Header.Set("Content-Type", "application/json")
		resp, err := w.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(answer)
	}
	for body, want := range map[string]int{
		``: 200, `{"toolset":"small"}`: 200, `{"toolset":"none"}`: 404, `{"origin":"app.example.com"}`: 422, `{"origin":"https://app.example.com/x"}`: 422,
		`{"origin":1}`: 422, `{"other":""}`: 422, `[]`: 422,
	} {
		status, answer := send(body)
		var got struct {
			OK    bool
			Steps []doctor.Step
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != want || got.OK != (want == 200) {
			t.Errorf("%s: %d %s, want %d", body, status, answer, want)
		}
	}
}
