package dial_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/background"
	"mcpgateway/services/runner/dial"
	"mcpgateway/services/runners/socket"
	"mcpgateway/services/secrets"
)

func TestAddressOfTheGateway(t *testing.T) {
	for _, c := range []struct {
		url       string
		allowHTTP bool
		want      string // the address, or part of the error
	}{
		{"https://gateway.example.com", false, "wss://gateway.example.com/v1/connect"},
		{"https://gateway.example.com/", false, "wss://gateway.example.com/v1/connect"},
		{"https://gateway.example.com/v1/connect", false, "wss://gateway.example.com/v1/connect"},
		{"http://127.0.0.1:8080", false, "ws://127.0.0.1:8080/v1/connect"},
		{"http://[::1]:8080", false, "ws://[::1]:8080/v1/connect"},
		{"http://localhost:8080", false, "ws://localhost:8080/v1/connect"},
		{"http://gateway:8080", true, "ws://gateway:8080/v1/connect"},
		{"http://gateway:8080", false, "clear text"},
		{"http://127.0.0.1.example.com", false, "clear text"},
		{"ws://127.0.0.1:8080", true, "https URL"},
		{"https://user:pass@gateway.example.com", false, "--token-file"},
		{"https://gateway.example.com/?a=b", false, "such as"},
		{"https://gateway.example.com/#a", false, "such as"},
		{"https://", false, "such as"},
		{"gateway.example.com", false, "such as"},
		{"", false, "such as"},
	} {
		got, err := dial.Address(c.url, c.allowHTTP)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

// start runs a dialer of a gateway until the test ends and returns its log.
func start(t *testing.T, gateway string, edit func(*dial.Options)) (*dial.Dialer, *routestest.Log) {
	t.Helper()
	logged := &routestest.Log{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	o := dial.Options{
		URL: gateway, Token: secrets.NewValue("gwc_token"), AllowHTTP: true, Log: log, Tasks: background.New(log),
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, MinDelay: time.Millisecond, MaxDelay: 10 * time.Millisecond,
	}
	if edit != nil {
		edit(&o)
	}
	d, err := dial.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, http.NotFoundHandler()) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return d, logged
}

func TestFailuresAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		want    string
		greeted string // the first message of a WebSocket
	}{
		"wrong token":       {401, `{"code":"UNAUTHORIZED","message":"The connector's token is wrong."}`, "The connector's token is wrong.", ""},
		"revoked":           {401, `{"code":"UNAUTHORIZED","message":"The connector's token was revoked."}`, "was revoked", ""},
		"stripped upgrade":  {400, `{"code":"INVALID_PARAMETER","message":"A proxy on the way does not pass WebSocket."}`, "does not pass WebSocket", ""},
		"proxy":             {400, "Bad Request", "a proxy on the way does not pass WebSocket", ""},
		"proxy's page":      {200, "<html>", "a proxy on the way does not pass WebSocket", ""},
		"another server":    {404, "not found", "not a gateway that accepts connectors", ""},
		"proxy's sign-in":   {407, "", "the proxy wants a user name", ""},
		"forbidden":         {403, "", "refused the connection (HTTP 403)", ""},
		"down":              {502, "", "the gateway is not available (HTTP 502)", ""},
		"shutting down":     {503, `{"code":"UNAVAILABLE","message":"The gateway is shutting down."}`, "The gateway is shutting down.", ""},
		"another protocol":  {101, "", "version 2 of the protocol", `{"version":2,"replica":"r","replicas":["r"]}`},
		"another WebSocket": {101, "", "its first message is not valid", `hello`},
		"no replica":        {101, "", "its first message is not valid", `{"version":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer gwc_token" || r.URL.Path != "/v1/connect" {
					t.Errorf("request of %s with %v", r.URL, r.Header)
				}
				if c.status != http.StatusSwitchingProtocols {
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.body))
					return
				}
				ws, err := (&websocket.Upgrader{Subprotocols: []string{socket.Subprotocol}}).Upgrade(w, r, nil)
				if err != nil {
					return
				}
				defer ws.Close()
				_ = ws.WriteMessage(websocket.TextMessage, []byte(c.greeted))
				_, _, _ = ws.ReadMessage()
			}))
			t.Cleanup(server.Close)
			_, logged := start(t, server.URL, nil)
			routestest.Eventually(t, c.want, func() bool { return strings.Contains(logged.String(), c.want) })
			if strings.Contains(logged.String(), "gwc_token") {
				t.Error("log contains the token")
			}
		})
	}
}

// TestLastingConnectionsResetTheDelay cuts every connection after a time that is
// longer than the first delay. Each one is replaced without a longer delay.
func TestLastingConnectionsResetTheDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	connections := make(chan time.Time, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{Subprotocols: []string{socket.Subprotocol}}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"version":1,"replica":"r","replicas":["r"]}`))
		connections <- time.Now()
		<-time.After(3 * delay)
	}))
	t.Cleanup(server.Close)
	start(t, server.URL, func(o *dial.Options) { o.MinDelay, o.MaxDelay = delay, time.Hour })
	for began := time.Now(); len(connections) < 12; { // doubled each time, the delays would take 40 s
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d connections in %v", len(connections), time.Since(began))
		}
		<-time.After(delay)
	}
}

func TestAnotherSubprotocolRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil); err == nil {
			_, _, _ = ws.ReadMessage()
			_ = ws.Close()
		}
	}))
	t.Cleanup(server.Close)
	_, logged := start(t, server.URL, nil)
	routestest.Eventually(t, "a refusal", func() bool { return strings.Contains(logged.String(), "it does not know gateway-runner.v1") })
}

func TestProxyIsUsed(t *testing.T) {
	asked := make(chan string, 100)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "https://gateway.example.com", func(o *dial.Options) {
		o.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Host != "gateway.example.com" || r.URL.Scheme != "https" {
				t.Errorf("proxy for %s", r.URL)
			}
			return address, nil
		}
	})
	if got := <-asked; got != "CONNECT gateway.example.com:443" {
		t.Errorf("the proxy received %q", got)
	}
}

func TestOptionsChecked(t *testing.T) {
	for want, o := range map[string]dial.Options{
		"clear text": {URL: "http://gateway.example.com", Token: secrets.NewValue("x")},
		"--prefix":   {URL: "https://gateway.example.com", Token: secrets.NewValue("x"), Prefix: "a b"},
		"empty":      {URL: "https://gateway.example.com"},
	} {
		if _, err := dial.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for prefix, valid := range map[string]bool{
		"": true, "laptop-": true, "a.b_c": true, strings.Repeat("a", 31): true, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false, "-a": false, "a/": false,
	} {
		if (socket.CheckPrefix(prefix) == "") != valid {
			t.Errorf("prefix %q: %q", prefix, socket.CheckPrefix(prefix))
		}
	}
}
