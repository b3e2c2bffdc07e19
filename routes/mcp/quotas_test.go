package mcp_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

const (
	stepsCall     = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__steps","arguments":{}}}`
	executeCall   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"gateway_executeTool","arguments":{"name":"up__steps"}}}`
	statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// limitedServer is a server with a limit on the calls of one tool.
type limitedServer struct {
	*server
	changes int
}

// newLimited starts a server with the tool up__steps and Code Mode.
func newLimited(t *testing.T) *limitedServer {
	t.Helper()
	s := &limitedServer{server: serve(t, openProject, nil)}
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: steppingTools()})
	s.Apply(t, `{"projects":{"p":{"codeMode":{"enabled":true},"mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
	s.Sync(t, "p", "up")
	return s
}

// limit replaces the limits by one of n calls per day. Its pattern is new, so
// that nothing is counted yet.
func (s *limitedServer) limit(t *testing.T, n int) {
	t.Helper()
	s.changes++
	s.Apply(t, fmt.Sprintf(`{"projects":{"p":{"limits":[{"per":"project","match":"%s__steps","perDay":%d}]}}}`, strings.Repeat("*", s.changes), n))
}

// rpcError is the error of a response, or of an event of the bridge.
type rpcError struct {
	Error *struct {
		Code    int
		Message string
		Data    struct {
			Code       string
			RetryAfter int
		}
	}
}

// checkRateError checks the error of a response that can't be a 429.
func checkRateError(t *testing.T, body string) {
	t.Helper()
	var e rpcError
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == nil {
		t.Fatalf("got %s (%v), want an error", body, err)
	}
	if e.Error.Code != -32603 || e.Error.Data.Code != "RATE_LIMITED" || e.Error.Data.RetryAfter < 1 || e.Error.Data.RetryAfter > 24*60*60 ||
		!strings.Contains(e.Error.Message, "per day") {
		t.Errorf("got %+v", e.Error)
	}
}

// TestQuotaOnEveryPath calls a tool with a limit of two calls in every way.
func TestQuotaOnEveryPath(t *testing.T) {
	s := newLimited(t)
	stateless := func(call string) string { return strings.Replace(call, `"arguments"`, statelessMeta+`,"arguments"`, 1) }
	modern := func(accept, name string) map[string]string {
		return header("Accept", accept, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
	}
	event := func(t *testing.T, body string) string {
		_, data, _ := strings.Cut(body, "data: ")
		data, _, _ = strings.Cut(data, "\n")
		return data
	}
	for name, c := range map[string]struct {
		request
		stream bool
	}{
		"plain":                   {request{body: stepsCall, header: header("Accept", "application/json")}, false},
		"handshake":               {request{body: stepsCall, header: legacyHeader()}, false},
		"handshake with session":  {request{body: stepsCall, header: legacyHeader("Mcp-Session-Id", s.session(t))}, false},
		"stateless":               {request{body: stateless(stepsCall), header: modern(bothKinds, "up__steps")}, false},
		"stateless, JSON":         {request{body: stateless(stepsCall), header: modern("application/json", "up__steps")}, false},
		"stateless, only stream":  {request{body: stateless(stepsCall), header: modern("text/event-stream", "up__steps")}, true},
		"executeTool":             {request{body: executeCall, header: legacyHeader()}, false},
		"stateless executeTool":   {request{body: stateless(executeCall), header: modern(bothKinds, "gateway_executeTool")}, false},
		"bridge":                  {request{path: "sse", body: stepsCall}, true},
		"bridge, GET":             {request{method: "GET", path: "sse?name=up__steps"}, true},
		"bridge with executeTool": {request{path: "sse", body: executeCall}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s.limit(t, 2)
			for n := 1; n <= 4; n++ {
				status, h, body := s.get(t, c.request)
				switch {
				case n <= 2:
					if status != 200 || strings.Contains(body, `"error"`) {
						t.Fatalf("call %d: %d %s", n, status, body)
					}
				case c.stream:
					if status != 200 || h.Get("Content-Type") != "text/event-stream" {
						t.Fatalf("call %d: %d %s", n, status, body)
					}
					checkRateError(t, event(t, body))
				default:
					seconds, err := strconv.Atoi(h.Get("Retry-After"))
					midnight := 24*60*60 - int(time.Now().Unix()%(24*60*60))
					if status != http.StatusTooManyRequests || !strings.Contains(body, `"code":"RATE_LIMITED"`) || err != nil || seconds < midnight-5 || seconds > midnight+60 {
						t.Fatalf("call %d: %d, Retry-After %q: %s", n, status, h.Get("Retry-After"), body)
					}
				}
			}
		})
	}
	t.Run("HTTP+SSE", func(t *testing.T) {
		s.limit(t, 2)
		stream, path := s.openPosted(t)
		defer stream.close()
		for n := 1; n <= 3; n++ {
			s.post(t, path, stepsCall, http.StatusAccepted)
			data := event(t, stream.block())
			if n == 3 {
				checkRateError(t, data)
			} else if !strings.Contains(data, `"result"`) {
				t.Fatalf("call %d: %s", n, data)
			}
		}
	})
	t.Run("batch", func(t *testing.T) {
		s.limit(t, 2)
		_, _, body := s.get(t, request{body: "[" + stepsCall + "," + stepsCall + "," + executeCall + `,{"jsonrpc":"2.0","id":8,"method":"tools/list"}]`, header: header("Accept", "application/json")})
		var answers []json.RawMessage
		if err := json.Unmarshal([]byte(body), &answers); err != nil || len(answers) != 4 {
			t.Fatalf("%v: %s", err, body)
		}
		refused := 0
		for _, answer := range answers {
			if strings.Contains(string(answer), `"error"`) {
				refused++
				checkRateError(t, string(answer))
			}
		}
		if refused != 1 {
			t.Errorf("%d calls refused, want 1: %s", refused, body)
		}
	})
	t.Run("code", func(t *testing.T) {
		s.limit(t, 2)
		out, _ := runCode(t, s.App, `
			const errors = [];
			for (let i = 0; i < 4; i++) { try { await up.steps({}) } catch (e) { errors.push([e.name, e.message]) } }
			return errors`, "")
		var errors [][2]string
		if err := json.Unmarshal(out.Result, &errors); err != nil || len(errors) != 2 {
			t.Fatalf("%v: %+v", err, out)
		}
		for _, e := range errors {
			if e[0] != "ToolError" || !strings.Contains(e[1], "2 of these calls per day") {
				t.Errorf("got %q", e)
			}
		}
	})
	t.Run("built-in tools", func(t *testing.T) {
		s.Apply(t, `{"projects":{"p":{"limits":[{"per":"project","perDay":1},{"per":"tool","perDay":1}]}}}`)
		for range 3 {
			for _, call := range []string{
				`{"name":"gateway_searchMcpForTask","arguments":{"task":"count steps"}}`, `{"name":"gateway_listTools","arguments":{}}`,
				`{"name":"gateway_executeTool","arguments":{"code":"return 1"}}`, `{"name":"up__unknown","arguments":{}}`,
			} {
				_, _, body := s.get(t, request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call + `}`})
				if strings.Contains(body, "RATE_LIMITED") {
					t.Errorf("%s: %s", call, body)
				}
			}
		}
		if status, _, body := s.get(t, request{body: stepsCall}); status != 200 {
			t.Errorf("the built-in tools were counted: %s", body)
		}
	})
}

// TestQuotaSubjects checks that every key, person and toolset has its own
// count, and that callers without one are exempt.
func TestQuotaSubjects(t *testing.T) {
	s := newLimited(t)
	id := s.addToolsets(t, "reader", "writer")
	owner := s.addPerson(t, "ann")
	_, plain := s.Key(t, "p", time.Hour)
	limitedKey := func(userID string, toolsets ...string) string {
		keyID, text := s.Key(t, "p", time.Hour)
		hash := sha256.Sum256([]byte("scoped:" + text))
		for _, slug := range toolsets {
			noError(t, s.Services.DB.Create(&models.KeyToolset{KeyID: keyID, ToolsetID: id[slug]}).Error)
		}
		noError(t, s.Services.DB.Model(&models.Key{ID: keyID}).Updates(map[string]any{"hash": hash[:], "user_id": userID, "scope": models.KeyToolsets}).Error)
		return text
	}
	both, reader := limitedKey("", "reader", "writer"), limitedKey("", "reader")
	anns, again := limitedKey(owner, "reader"), limitedKey(owner, "writer")
	s.Key(t, "p", time.Hour) // reloads the keys
	refused := func(key, path string) bool {
		t.Helper()
		answer := webtest.Send(t, s.App.App, webtest.Case{
			Method: "POST", Path: "/v1/mcp/p" + path + "/request", Body: stepsCall, Header: map[string]string{"Authorization": "Bearer " + key, "Accept": "application/json"},
		})
		if answer.Status != 200 && answer.Status != 429 || answer.Status == 200 && strings.Contains(answer.Body, `"error"`) {
			t.Fatalf("%d %s", answer.Status, answer.Body)
		}
		return answer.Status == 429
	}
	type step struct {
		key, path string
		refused   bool
	}
	for per, steps := range map[string][]step{
		"key":    {{plain, "", false}, {both, "", false}, {both, "", true}, {both, "/toolsets/reader", true}, {anns, "", false}, {again, "", false}, {plain, "", true}},
		"person": {{plain, "", false}, {plain, "", false}, {both, "", false}, {both, "", false}, {anns, "", false}, {anns, "", true}, {again, "", true}},
		"toolset": {
			{plain, "", false}, {plain, "", false}, {plain, "/toolsets/reader", false}, {plain, "/toolsets/reader", true},
			{reader, "", true}, {both, "", true}, {again, "", false}, {again, "", true}, {plain, "", false},
		},
		"tool":    {{plain, "", false}, {both, "", true}},
		"project": {{anns, "", false}, {plain, "", true}},
	} {
		t.Run(per, func(t *testing.T) {
			s.Apply(t, `{"projects":{"p":{"authMode":"api_key","limits":[{"per":"`+per+`","match":"up__*","perDay":1}]}}}`)
			for n, step := range steps {
				if got := refused(step.key, step.path); got != step.refused {
					t.Fatalf("call %d: refused %v, want %v", n+1, got, step.refused)
				}
			}
		})
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// addToolsets adds toolsets with all tools and returns their ids by slug.
func (s *limitedServer) addToolsets(t *testing.T, slugs ...string) map[string]string {
	t.Helper()
	project, err := s.Services.Directory.Project("p")
	noError(t, err)
	ids := map[string]string{}
	for _, slug := range slugs {
		ids[slug] = "id-" + slug
		row := models.Toolset{ID: ids[slug], ProjectID: project.Project.ID, Slug: slug, Name: slug, Include: models.StringList{"*"}, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		noError(t, s.Services.DB.Create(&row).Error)
	}
	noError(t, s.Services.DB.Model(&models.Project{ID: project.Project.ID}).Update("personal_keys_enabled", true).Error)
	s.Apply(t, `{"projects":{"p":{"description":"with toolsets","authMode":"api_key"}}}`)
	return ids
}

// addPerson adds an administrator and returns the id.
func (s *limitedServer) addPerson(t *testing.T, name string) string {
	t.Helper()
	user, err := s.Services.People.Create(t.Context(), access.NewUser{Email: name + "@example.com", Name: name, Role: models.RoleAdmin, Password: secrets.NewValue("correct horse battery")})
	noError(t, err)
	return user.ID
}

// TestQuotaOverReplicas stops the calls of a key at two replicas.
func TestQuotaOverReplicas(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		leaveNothing(t)
		up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: steppingTools()}).Start(t)
		a := serveOn(t, dsn, `{"projects":{"p":{"authMode":"api_key","limits":[{"per":"key","perDay":10}],"mcpServers":{"up":{"url":"`+up+`"}}}}}`, nil)
		a.Sync(t, "p", "up")
		_, key := a.Key(t, "p", time.Hour)
		b := serveOn(t, dsn, "", nil)
		call := func(s *server, want int) {
			t.Helper()
			if status, _, body := s.get(t, request{body: stepsCall, header: header("Authorization", "Bearer "+key)}); status != want {
				t.Fatalf("%d, want %d: %s", status, want, body)
			}
		}
		exchange := func(replicas ...*server) {
			t.Helper()
			for _, s := range replicas {
				if err := s.Services.Quotas.Exchange(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 6 {
			call(a, 200)
		}
		exchange(a)
		call(b, 200)
		exchange(b)
		for range 3 {
			call(b, 200)
		}
		call(b, 429)
		exchange(b, a)
		call(a, 429)
		restarted := serveOn(t, dsn, "", nil)
		call(restarted, 429)
	})
}
