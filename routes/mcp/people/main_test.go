// Package people_test tests servers where every person has their own account,
// through the MCP endpoint.
package people_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/sandbox/sandboxtest"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }

const (
	handshake = "2025-11-25"
	stateless = routestest.Stateless
	opensURLs = `{"elicitation":{"form":{},"url":{}}}`
)

// world is an application with the project p, where everyone may sign in, its
// servers with personal accounts, and members.
type world struct {
	*routestest.App
	base    string                              // origin
	servers map[string]*upstreamtest.EchoServer // by alias
	ids     map[string]string                   // of the servers, by alias
	people  map[string]string                   // IDs of members, by name
}

// newWorld returns a world with members ann, ben and cy. No member is connected.
func newWorld(t *testing.T, dsn, auth string, servers map[string]*upstreamtest.EchoServer) *world {
	t.Helper()
	w := &world{App: routestest.New(t, dsn), servers: servers, ids: map[string]string{}, people: map[string]string{}}
	var declared []string
	for alias, e := range servers {
		declared = append(declared, fmt.Sprintf(`%q:{"url":%q,"authType":%q,"connection":"personal"}`, alias, e.Start(t), auth))
	}
	w.Apply(t, `{"projects":{"p":{"authMode":"oauth","personalKeys":{"enabled":true,"maxDays":30},"codeMode":{"enabled":true,"timeout":10000},"mcpServers":{`+strings.Join(declared, ",")+`}}}}`)
	for alias := range servers {
		w.ids[alias] = w.ServerID(t, "p", alias)
	}
	for _, name := range []string{"ann", "ben", "cy"} {
		w.people[name] = w.Person(t, name)
	}
	w.base = w.Serve(t)
	return w
}

// oneServer returns a world on SQLite with one server, echo, that takes tokens
// and whose tools are known from the account of cy.
func oneServer(t *testing.T, eras ...upstreamtest.Era) (*world, *upstreamtest.EchoServer) {
	t.Helper()
	e := upstreamtest.NewEchoServer(eras...)
	w := newWorld(t, "sqlite:"+t.TempDir()+"/gateway.db", "bearer", map[string]*upstreamtest.EchoServer{"echo": e})
	w.EnterToken(t, e, w.ids["echo"], w.people["cy"], "cy", true)
	w.Sync(t, "p", "echo")
	e.ForgetRequests()
	return w, e
}

// client returns a client of a person with a personal key.
func (w *world) client(t *testing.T, name, version, capabilities string) *routestest.Client {
	t.Helper()
	return w.clientWith(t, w.PersonalKey(t, "p", w.people[name]), version, capabilities)
}

func (w *world) clientWith(t *testing.T, token, version, capabilities string) *routestest.Client {
	t.Helper()
	c := &routestest.Client{Endpoint: w.base + "/v1/mcp/p/request", Token: token, Version: version, Capabilities: capabilities}
	return c.Open(t)
}

// connect connects a person's account at the server echo.
func (w *world) connect(t *testing.T, name string) {
	t.Helper()
	w.EnterToken(t, w.servers["echo"], w.ids["echo"], w.people[name], name, true)
}

// serviceKey returns a key of a new project with the server echo that has no
// person, and its endpoint.
func (w *world) serviceKey(t *testing.T) (token, endpoint string) {
	t.Helper()
	w.Apply(t, fmt.Sprintf(`{"projects":{"service":{"authMode":"api_key","personalKeys":{"enabled":true,"maxDays":30},"codeMode":{"enabled":true,"timeout":10000},"mcpServers":{
		"echo":{"url":%q,"authType":"bearer","connection":"personal"}}}}}`, w.servers["echo"].URL))
	w.EnterToken(t, w.servers["echo"], w.ServerID(t, "service", "echo"), w.people["cy"], "cy", true)
	w.Grant(t, "service", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: w.people["cy"], Role: models.GrantUse})
	w.Sync(t, "service", "echo")
	_, token = w.Key(t, "service", 0)
	return token, w.base + "/v1/mcp/service/request"
}

// reached returns the Reached in a result, which is a text of it.
func reached(m routestest.Message) (r upstreamtest.Reached, err error) {
	text := textOf(m)
	if json.Unmarshal([]byte(strings.SplitN(text, "\n", 2)[0]), &r) != nil {
		return r, fmt.Errorf("no report in %s%s%s", m.Result, m.Error, m.Body)
	}
	return r, nil
}

// textOf returns the text of a result of tools/call, prompts/get,
// resources/read or completion/complete.
func textOf(m routestest.Message) string {
	var result struct {
		Content    []struct{ Text string }
		Messages   []struct{ Content struct{ Text string } }
		Contents   []struct{ Text string }
		Completion struct{ Values []string }
	}
	if json.Unmarshal(m.Result, &result) != nil {
		return ""
	}
	switch {
	case len(result.Content) > 0:
		return result.Content[0].Text
	case len(result.Messages) > 0:
		return result.Messages[0].Content.Text
	case len(result.Contents) > 0:
		return result.Contents[0].Text
	case len(result.Completion.Values) > 0:
		return result.Completion.Values[0]
	}
	return ""
}

// inputOf returns the name of the input request in an input_required result and
// the raw state.
func inputOf(m routestest.Message) (name, state string) {
	var result struct {
		ResultType    string
		InputRequests map[string]json.RawMessage
		RequestState  json.RawMessage
	}
	if json.Unmarshal(m.Result, &result) != nil || result.ResultType != "input_required" {
		return "", "null"
	}
	for name = range result.InputRequests {
	}
	return name, string(result.RequestState)
}
