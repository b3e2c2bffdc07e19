package doctor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// refusal is a refused request in the API.
type refusal struct {
	Method, Endpoint, Code, Reason, Client, Address string
	Status                                          int
}

func send(t *testing.T, a *routestest.App, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "127.0.0.1:8080"
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Set(name, value)
		}
	}
	resp, err := a.Test(req, -1)
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

func refusedOf(t *testing.T, a *routestest.App, slug string) (all []refusal, raw string) {
	t.Helper()
	status, answer := send(t, a, http.MethodGet, "/api/projects/"+slug+"/refused", "", map[string]string{"Authorization": "Bearer " + routestest.AdminToken})
	var list struct{ Items []refusal }
	if err := json.Unmarshal([]byte(answer), &list); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	return list.Items, answer
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"1.2"}}}`

func TestRefusedRequestsAreListed(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.New(t, dsn)
		a.Apply(t, project)
		_, key := a.Key(t, "keyed", 0)
		_, other := a.Key(t, "open", 0)
		json := map[string]string{"Content-Type": "application/json"}
		with := func(name, value string) map[string]string {
			return map[string]string{"Content-Type": "application/json", name: value}
		}
		for _, tt := range []struct {
			slug, path, method, body string
			header                   map[string]string
			status                   int
			want                     string // code, endpoint, client and reason; empty if the request isn't listed
		}{
			{"keyed", "request", "POST", hello, with("Authorization", "Bearer "+key), 200, ""},
			{"keyed", "request", "POST", hello, json, 401, "UNAUTHORIZED request editor 1.2: No Authorization header."},
			{"keyed", "sse", "GET", "", with("User-Agent", "curl/8.5"), 401, "UNAUTHORIZED sse curl/8.5: No Authorization header."},
			{"keyed", "request", "POST", hello, with("Authorization", "Basic abc"), 401, "UNAUTHORIZED request editor 1.2: The Authorization header has another scheme than Bearer."},
			{"keyed", "request", "POST", hello, with("Authorization", "Bearer abc"), 401, "UNAUTHORIZED request editor 1.2: The token isn't an API key of this gateway."},
			{"keyed", "request", "POST", hello, with("Authorization", "Bearer "+other), 401, "UNAUTHORIZED request editor 1.2: The key is unknown, expired, revoked, or of another project"},
			{"people", "request", "POST", hello, json, 401, "UNAUTHORIZED request editor 1.2: No access token."},
			{"people", "request", "POST", hello, with("Authorization", "Bearer abc"), 401, "UNAUTHORIZED request editor 1.2: The access token is unknown"},
			{"open", "request", "POST", hello, with("Host", "other.example.com"), 403, `FORBIDDEN request editor 1.2: Host "other.example.com" is not allowed.`},
			{"open", "request", "POST", hello, with("Origin", "https://other.example.com"), 403, `FORBIDDEN request editor 1.2: Origin "https://other.example.com" is not allowed.`},
			{"open", "request", "POST", `{`, json, 400, "INVALID_PARAMETER request : The body is not valid JSON"},
			{"open", "request", "PUT", "", nil, 405, "METHOD_NOT_ALLOWED request : Send JSON-RPC requests with POST."},
			{"open", "request/", "POST", hello, json, 404, "NOT_FOUND request editor 1.2: The URL ends with a slash."},
			{"keyed", "toolsets/none/request", "POST", hello, json, 404, "NOT_FOUND toolset request editor 1.2: The project has no toolset of this name"},
			{"none", "request", "POST", hello, json, 404, ""},
		} {
			before := 0
			if tt.slug != "none" {
				list, _ := refusedOf(t, a, tt.slug)
				before = len(list)
			}
			status, answer := send(t, a, tt.method, "/v1/mcp/"+tt.slug+"/"+tt.path, tt.body, tt.header)
			if status != tt.status {
				t.Errorf("%s %s: %d %s, want %d", tt.method, tt.path, status, answer, tt.status)
			}
			if tt.slug == "none" {
				continue
			}
			list, _ := refusedOf(t, a, tt.slug)
			if tt.want == "" {
				if len(list) != before {
					t.Errorf("%s %s is listed", tt.method, tt.path)
				}
				continue
			}
			if len(list) != before+1 {
				t.Errorf("%s %s: %d requests listed, want %d", tt.method, tt.path, len(list), before+1)
				continue
			}
			r := list[0]
			if got := fmt.Sprintf("%s %s %s: %s", r.Code, r.Endpoint, r.Client, r.Reason); !strings.HasPrefix(got, tt.want) || r.Status != tt.status || r.Method != tt.method || r.Address == "" {
				t.Errorf("%+v, want %s", r, tt.want)
			}
		}
	})
}

// TestRefusedRequestsHaveNoCredentials sends a key in every part of a request.
func TestRefusedRequestsHaveNoCredentials(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, project)
	const secret = "gwk_0123456789abcdefghijABCDEFGHIJ"
	opaque := "opaque-token-of-another-system"
	for _, s := range []string{secret, opaque} {
		for _, header := range []map[string]string{
			{"Authorization": "Bearer " + s}, {"Authorization": s}, {"X-Api-Key": s}, {"Cookie": "sid=" + s},
		} {
			send(t, a, http.MethodPost, "/v1/mcp/keyed/request?key="+s, hello, header)
			send(t, a, http.MethodGet, "/v1/mcp/keyed/toolsets/"+s+"/request", "", header)
			send(t, a, http.MethodPost, "/v1/mcp/keyed/sse?sessionId="+s, hello, header)
			send(t, a, http.MethodPost, "/v1/mcp/keyed/request/"+s+"/", hello, header)
		}
	}
	send(t, a, http.MethodPost, "/v1/mcp/keyed/request", strings.Replace(hello, "editor", secret, 1), nil)
	send(t, a, http.MethodPost, "/v1/mcp/keyed/request", hello, map[string]string{"Origin": "https://" + secret + ".example.com"})
	send(t, a, http.MethodPost, "/v1/mcp/keyed/request", "", map[string]string{"User-Agent": "x token=" + opaque})
	list, raw := refusedOf(t, a, "keyed")
	if len(list) < 20 {
		t.Fatalf("only %d requests listed", len(list))
	}
	if strings.Contains(raw, "0123456789") || strings.Contains(raw, opaque) {
		t.Errorf("the list has a secret: %s", raw)
	}
}

// TestProbesAreSealed sends the doctor's header with other values.
func TestProbesAreSealed(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, project)
	for _, token := range []string{"x", strings.Repeat("A", 80)} {
		req := httptest.NewRequest(http.MethodPost, "/v1/mcp/keyed/request", strings.NewReader(hello))
		req.Host = "127.0.0.1:8080"
		req.Header.Set("Gateway-Doctor", token)
		resp, err := a.Test(req, -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.Header.Get("Gateway-Doctor-Seen") != "" {
			t.Errorf("%q was accepted", token)
		}
	}
	if list, _ := refusedOf(t, a, "keyed"); len(list) != 2 {
		t.Errorf("%d requests listed, want 2", len(list))
	}
}
