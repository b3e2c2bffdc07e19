package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

type keyRecord struct {
	ID, Name, Prefix, Key            string
	CreatedAt                        time.Time
	ExpiresAt, LastUsedAt, RevokedAt *time.Time
}

type keyList struct {
	Items      []keyRecord
	Count      int
	NextCursor *string
}

func TestKeyShownOnce(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.project(t, "p", "api_key", "")
		var created keyRecord
		answer := a.admin(t, "POST", "/api/projects/p/keys", `{"name":"laptop","expiresAt":"2099-01-01T00:00:00Z"}`, 201, &created)
		if !regexp.MustCompile(`^gwk_[0-9A-Za-z]{36}$`).MatchString(created.Key) || created.Name != "laptop" || created.Prefix != created.Key[:8] || created.ID == "" {
			t.Errorf("created %+v", created)
		}
		if d := created.ExpiresAt.Sub(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)).Abs(); d > time.Second {
			t.Errorf("expiry differs by %s", d)
		}
		if answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", answer.Header)
		}
		var list keyList
		answer = a.admin(t, "GET", "/api/projects/p/keys", "", 200, &list)
		if list.Count != 1 || list.NextCursor != nil || list.Items[0].ID != created.ID || list.Items[0].Prefix != created.Prefix || strings.Contains(answer.Body, created.Key) || strings.Contains(answer.Body, `"key"`) {
			t.Errorf("listed %s", answer.Body)
		}
		for _, member := range []string{`"lastUsedAt":null`, `"revokedAt":null`, `"nextCursor":null`} {
			if !strings.Contains(answer.Body, member) {
				t.Errorf("list lacks %s: %s", member, answer.Body)
			}
		}
		if got := a.callEcho(t, "p", created.Key, "up__echo"); got.Status != 200 || errorCode(t, got) != 0 {
			t.Errorf("new key: %d %s", got.Status, got.Body)
		}
		if strings.Contains(a.Log.String(), created.Key) {
			t.Error("log contains the key")
		}
	})
}

func TestKeyCreation(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "p", "api_key", "")
	token := map[string]string{"Authorization": "Bearer " + routestest.AdminToken}
	var cases []webtest.Case
	for body, field := range map[string]string{
		`{"name":"` + strings.Repeat("x", 101) + `"}`: `"name"`, `{"name":"a\u0007"}`: `"name"`, `{"expiresAt":"2001-01-01T00:00:00Z"}`: `"expiresAt"`,
		`{"expiresAt":"tomorrow"}`: `"expiresAt"`, `{"expiresAt":7}`: `"expiresAt"`, `{"name":7}`: `"name"`, `{"Name":"x"}`: `"Name"`, `{"key":"gwk_x"}`: `"key"`,
		`{"name":"a","name":"b"}`: "duplicate", `[]`: "(body)",
	} {
		cases = append(cases, webtest.Case{Name: body, Path: "/api/projects/p/keys", Header: token, Body: body, Status: 422, WantBody: []string{"VALIDATION_FAILED", field}})
	}
	cases = append(cases,
		webtest.Case{Name: "no body", Method: "POST", Path: "/api/projects/p/keys", Header: token, Status: 201},
		webtest.Case{Name: "unknown project", Path: "/api/projects/zzz/keys", Header: token, Body: "{}", Status: 404, WantBody: []string{"NOT_FOUND"}},
		webtest.Case{Name: "unknown project's list", Path: "/api/projects/zzz/keys", Header: token, Status: 404})
	webtest.Run(t, a.App.App, cases)
	var list keyList
	a.admin(t, "GET", "/api/projects/p/keys", "", 200, &list)
	if list.Count != 1 {
		t.Errorf("%d keys were created", list.Count)
	}
}

func TestRotationAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.project(t, "p", "api_key", "")
		works := func(key string) bool {
			t.Helper()
			return a.rpc(t, "p", key, "tools/list", "{}").Status == 200
		}
		id, old := a.Key(t, "p", 0)
		var graced, next keyRecord
		answer := a.admin(t, "POST", "/api/keys/"+id+"/rotate", `{"graceSeconds":3600}`, 201, &graced)
		if !works(old) || !works(graced.Key) || graced.ID == id || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("grace period: old key works = %v, new key works = %v", works(old), works(graced.Key))
		}
		a.admin(t, "POST", "/api/keys/"+graced.ID+"/rotate", "", 201, &next) // without a body there is no grace period
		if works(graced.Key) || !works(next.Key) || !works(old) {
			t.Error("old key works without a grace period, or new key does not")
		}
		a.admin(t, "POST", "/api/keys/"+graced.ID+"/rotate", `{"graceSeconds":0}`, 409, nil)
		a.admin(t, "POST", "/api/keys/unknown/rotate", "", 404, nil)
		for seconds, status := range map[string]int{"-1": 422, "2592000": 201, "2592001": 422, "9223372036854775807": 422, `"0"`: 422, "0.5": 422} {
			fresh, _ := a.Key(t, "p", 0)
			a.admin(t, "POST", "/api/keys/"+fresh+"/rotate", `{"graceSeconds":`+seconds+`}`, status, nil)
		}
		a.admin(t, "DELETE", "/api/keys/"+next.ID, "", 204, nil)
		if works(next.Key) {
			t.Error("revoked key works")
		}
		a.admin(t, "DELETE", "/api/keys/"+next.ID, "", 204, nil)
		a.admin(t, "DELETE", "/api/keys/unknown", "", 404, nil)
		for _, key := range []string{old, graced.Key, next.Key} {
			if strings.Contains(a.Log.String(), key) {
				t.Error("log contains a key")
			}
		}
	})
}

// comparable returns a response without the parts that differ between requests.
func comparable(a webtest.Response) string {
	h := a.Header.Clone()
	h.Del("Date")
	h.Del("X-Request-Id")
	b, err := json.Marshal(struct {
		Status int
		Header http.Header
		Body   string
	}{a.Status, h, a.Body})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

func TestKeyOracle(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.project(t, "key", "api_key", "")
		a.project(t, "other", "api_key", "")
		a.project(t, "oa", "oauth", "")
		_, good := a.Key(t, "key", 0)
		_, foreign := a.Key(t, "other", 0)
		revokedID, revoked := a.Key(t, "key", 0)
		if answer := a.rpc(t, "key", revoked, "tools/list", "{}"); answer.Status != 200 {
			t.Fatalf("key before the test: status %d", answer.Status)
		}
		a.admin(t, "DELETE", "/api/keys/"+revokedID, "", 204, nil)
		_, expired := a.Key(t, "key", time.Millisecond)
		routestest.Eventually(t, "key expires", func() bool { return a.rpc(t, "key", expired, "tools/list", "{}").Status != 200 })
		if answer := a.rpc(t, "key", good, "tools/list", "{}"); answer.Status != 200 {
			t.Fatalf("valid key: %d %s", answer.Status, answer.Body)
		}
		unknown := strings.Replace(good, good[10:12], flip(good[10:12]), 1)
		want := comparable(a.rpc(t, "key", "", "tools/list", "{}"))
		for name, key := range map[string]string{"malformed": "gwk_nonsense", "unknown": unknown, "foreign": foreign, "expired": expired, "revoked": revoked, "administrator": routestest.AdminToken} {
			answer := a.rpc(t, "key", key, "tools/list", "{}")
			if d := cmp.Diff(want, comparable(answer)); d != "" {
				t.Errorf("%s (-missing +%s):\n%s", name, name, d)
			}
			webtest.Check(t, webtest.Case{
				Status: 401, WantJSON: `{"code":"UNAUTHORIZED","message":"Valid credentials are required.","restart":false,"help":"http://127.0.0.1:8080/docs/errors#UNAUTHORIZED"}`,
				WantHeader: map[string]string{"WWW-Authenticate": `Bearer realm="gateway"`, "Cache-Control": "no-store", "Mcp-Session-Id": ""},
			}, answer)
		}
		for _, key := range []string{"", good, "x"} {
			if answer := a.rpc(t, "oa", key, "tools/list", "{}"); answer.Status != 401 || strings.Contains(answer.Body, "echo") {
				t.Errorf("oauth project: %d %s", answer.Status, answer.Body)
			}
		}
		for _, key := range []string{good, foreign, revoked, expired, unknown} {
			if strings.Contains(a.Log.String(), key) {
				t.Error("log contains a key")
			}
		}
	})
}

// flip returns two other characters of the same kind.
func flip(s string) string {
	if s == "aa" {
		return "bb"
	}
	return "aa"
}

func TestKeyInQueryIsIgnored(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "key", "api_key", "")
	_, key := a.Key(t, "key", 0)
	want := comparable(a.rpc(t, "key", "", "tools/list", "{}"))
	for _, name := range []string{"key", "api_key", "access_token", "token", "authorization"} {
		answer := a.send(t, "POST", "/v1/mcp/key/request?"+name+"="+key, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if d := cmp.Diff(want, comparable(answer)); d != "" {
			t.Errorf("%s (-without +with):\n%s", name, d)
		}
	}
	for _, header := range []string{"X-Api-Key", "Cookie", "Proxy-Authorization", "X-Authorization"} {
		answer := webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/key/request", Header: map[string]string{header: "Bearer " + key}, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
		if answer.Status != 401 {
			t.Errorf("%s: %d", header, answer.Status)
		}
	}
	if strings.Contains(a.Log.String(), key) {
		t.Error("log contains the key")
	}
}

func TestRevocationReachesAllReplicas(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "p", "api_key", "")
	replica, next := routestest.New(t, a.Services.Config.DatabaseURL, trusting), elsewhere()
	// Other programs use the processor: one fast round is enough.
	var took time.Duration
	for range 5 {
		id, key := a.Key(t, "p", 0)
		ask := func() int {
			return webtest.Send(t, replica.App, webtest.Case{Path: "/v1/mcp/p/request", Header: map[string]string{"Authorization": "Bearer " + key, "X-Forwarded-For": next()}, Body: list}).Status
		}
		routestest.Eventually(t, "replica accepts the key", func() bool { return ask() == 200 })
		start := time.Now()
		a.admin(t, "DELETE", "/api/keys/"+id, "", 204, nil)
		routestest.Eventually(t, "replica rejects the revoked key", func() bool { return ask() == 401 })
		if took = time.Since(start); took <= 5*time.Second { // 1 s is guaranteed; the machine may be busy
			return
		}
	}
	t.Errorf("revocation took %s", took)
}

func TestCallRateLimit(t *testing.T) {
	a := onSQLite(t)
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","rateLimit":{"perSecond":0.001,"burst":2},"mcpServers":{"up":{"url":%q}}}}}`, a.url))
	a.Sync(t, "p", "up")
	for i, status := range []int{200, 200, 429} {
		answer := a.callEcho(t, "p", "", "up__echo")
		if answer.Status != status {
			t.Fatalf("call %d: %d %s", i+1, answer.Status, answer.Body)
		}
		if status == 429 {
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"RATE_LIMITED"`}}, answer)
			if after := answer.Header.Get("Retry-After"); len(after) < 3 {
				t.Errorf("Retry-After = %q", after)
			}
		}
	}
	if got := a.listedTools(t, "p", ""); got == "" { // lists are not limited
		t.Error("no tools")
	}
}
