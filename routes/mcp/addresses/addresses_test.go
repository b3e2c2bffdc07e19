package addresses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// world is project p with servers that show the same URIs.
type world struct {
	*routestest.App
	dsn    string
	origin string
	up     map[string]*upstreamtest.Server
	urls   map[string]string
}

// options are those of a server that shows v1://counter and others. Its results
// have its name and the URI that it received.
func options(name string) upstreamtest.Options {
	named := func(result string) upstreamtest.Handler {
		return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			var p struct {
				URI string
				Ref struct{ URI string }
			}
			_ = json.Unmarshal(c.Params, &p)
			return upstreamtest.JSON(strings.NewReplacer("$NAME", name, "$URI", p.URI+p.Ref.URI).Replace(result))
		}
	}
	return upstreamtest.Options{
		Name: name, Capabilities: `{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}`,
		Tools: []upstreamtest.Tool{
			{Definition: `{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://w/v.html"},"ui/resourceUri":"ui://w/v.html"}}`, Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
				return upstreamtest.JSON(`{"content":[{"type":"resource_link","uri":"v1://counter","name":"c"},{"type":"resource","resource":{"uri":"v1://counter/log","text":"see v1://counter"}},{"type":"resource_link","uri":"https://a.example/","name":"l"}],` +
					`"structuredContent":{"uri":"v1://counter","arguments":` + string(c.Arguments) + `},"_meta":{"openai/outputTemplate":"ui://w/v.html"}}`)
			}},
		},
		Methods: map[string]upstreamtest.Handler{
			"resources/list":           named(`{"resources":[{"uri":"v1://counter","name":"c"},{"uri":"memo:insights","name":"m"},{"uri":"ui://w/v.html","name":"v"}]}`),
			"resources/templates/list": named(`{"resourceTemplates":[{"uriTemplate":"v1://item/{n}","name":"t"}]}`),
			"prompts/list":             named(`{"prompts":[{"name":"brief"}]}`),
			"prompts/get":              named(`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"v1://counter","name":"c"}}]}`),
			"resources/read":           named(`{"contents":[{"uri":"$URI","text":"$NAME of $URI"}]}`),
			"resources/subscribe":      named(`{}`),
			"resources/unsubscribe":    named(`{}`),
			"completion/complete":      named(`{"completion":{"values":["$NAME $URI"]}}`),
		},
	}
}

// add adds servers to the project and syncs them one after another.
func (w *world) add(t *testing.T, aliases ...string) {
	t.Helper()
	for _, alias := range aliases {
		w.up[alias] = upstreamtest.New(options(alias))
		w.urls[alias] = w.up[alias].Start(t)
		w.apply(t, alias, "")
		w.Sync(t, "p", alias)
	}
}

func (w *world) apply(t *testing.T, alias, more string) {
	t.Helper()
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{%q:{"url":%q%s}}}}}`, alias, w.urls[alias], more))
}

func newWorld(t *testing.T, dsn string, aliases ...string) *world {
	t.Helper()
	w := &world{dsn: dsn, up: map[string]*upstreamtest.Server{}, urls: map[string]string{}}
	w.start(t)
	w.add(t, aliases...)
	return w
}

// start starts a process on the database.
func (w *world) start(t *testing.T) {
	t.Helper()
	w.App = routestest.New(t, w.dsn)
	w.origin = w.Serve(t)
}

func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "gateway.db") }

func (w *world) client(t *testing.T, version string) *routestest.Client {
	t.Helper()
	return (&routestest.Client{Endpoint: w.origin + "/v1/mcp/p/request", Version: version}).Open(t)
}

// send returns the raw result or error of a request.
func send(t *testing.T, c *routestest.Client, method, params string) string {
	t.Helper()
	m, err := c.Send(t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return string(m.Result) + string(m.Error)
}

// has fails the test unless text has all of the parts.
func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %s is missing in\n%s", what, part, text)
		}
	}
}

// lists returns what a client is shown.
func lists(t *testing.T, c *routestest.Client) string {
	t.Helper()
	var all []string
	for _, method := range []string{"resources/list", "resources/templates/list"} {
		var list struct {
			Resources, ResourceTemplates []struct{ URI, URITemplate string }
		}
		if err := json.Unmarshal([]byte(send(t, c, method, `{}`)), &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range append(list.Resources, list.ResourceTemplates...) {
			all = append(all, r.URI+r.URITemplate)
		}
	}
	return strings.Join(all, " ")
}

var eras = []string{"2025-11-25", routestest.Stateless}

func TestEqualURIsOfTwoServers(t *testing.T) {
	w := newWorld(t, sqlite(t), "mail", "crm") // crm is later, though alphabetically first
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			c := w.client(t, version)
			const want = "v1://+crm/counter memo://+crm~/insights ui://+crm/w/v.html v1://counter memo:insights ui://w/v.html v1://+crm/item/{n} v1://item/{n}"
			if got := lists(t, c); got != want {
				t.Errorf("lists %s\nwant  %s", got, want)
			}
			for uri, want := range map[string]string{
				"v1://counter": "mail of v1://counter", "v1://+crm/counter": "crm of v1://counter", "v1://%2BCRM/counter": "crm of v1://counter",
				"memo://+crm~/insights": "crm of memo:insights", "v1://item/7": "mail of v1://item/7", "v1://+crm/item/7": "crm of v1://item/7",
				"x://unclaimed": "mail of x://unclaimed", "ui://+crm/w/v.html": "crm of ui://w/v.html", "v1://+mail/counter": "mail of v1://counter",
			} {
				has(t, uri, send(t, c, "resources/read", `{"uri":"`+uri+`"}`), `"uri":"`+uri+`"`, want)
			}
			for uri, want := range map[string]string{"v1://item/{n}": "mail v1://item/{n}", "v1://+crm/item/{n}": "crm v1://item/{n}"} {
				has(t, uri, send(t, c, "completion/complete", `{"ref":{"type":"ref/resource","uri":"`+uri+`"},"argument":{"name":"n","value":""}}`), want)
			}
			has(t, "tools/list", send(t, c, "tools/list", `{}`), `"_meta":{"ui":{"resourceUri":"ui://+crm/w/v.html"},"ui/resourceUri":"ui://+crm/w/v.html"}`, `"ui":{"resourceUri":"ui://w/v.html"}`)
			has(t, "prompts/get", send(t, c, "prompts/get", `{"name":"crm__brief"}`), `"uri":"v1://+crm/counter"`)
			const arguments = `{"a":"v1://+crm/counter","b":["v1://+mail/counter","of v1://+crm/counter"],"v1://+crm/counter":1}`
			const received = `"arguments":{"a":"v1://counter","b":["v1://+mail/counter","of v1://+crm/counter"],"v1://+crm/counter":1}`
			parts := []string{
				`"uri":"v1://+crm/counter","name":"c"`, `"resource":{"uri":"v1://+crm/counter/log","text":"see v1://counter"}`, `"uri":"https://a.example/"`,
				`"structuredContent":{"uri":"v1://counter",` + received, `"openai/outputTemplate":"ui://+crm/w/v.html"`,
			}
			has(t, "tools/call", send(t, c, "tools/call", `{"name":"crm__show","arguments":`+arguments+`}`), parts...)
			has(t, "executeTool", send(t, c, "tools/call", `{"name":"gateway_executeTool","arguments":{"name":"crm__show","arguments":`+arguments+`}}`), parts...)
			has(t, "call of the owner", send(t, c, "tools/call", `{"name":"mail__show","arguments":{}}`), `"uri":"v1://counter","name":"c"`, `"resource":{"uri":"v1://counter/log"`, `"openai/outputTemplate":"ui://w/v.html"`)
		})
	}
}

func TestSubscriptionsByAddress(t *testing.T) {
	w := newWorld(t, sqlite(t), "mail", "crm")
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			c := w.client(t, version)
			updates := c.Listen(t, `{"resourceSubscriptions":["v1://+CRM/counter","v1://counter"]}`)
			if version < routestest.Stateless {
				for _, uri := range []string{"v1://+CRM/counter", "v1://counter"} {
					if got := send(t, c, "resources/subscribe", `{"uri":"`+uri+`"}`); got != `{}` {
						t.Fatalf("subscribe %s: %s", uri, got)
					}
				}
			} else {
				has(t, "acknowledgement", string((<-updates).Params), `"resourceSubscriptions":["v1://+CRM/counter","v1://counter"]`)
			}
			for _, tt := range []struct{ alias, want string }{{"crm", "v1://+CRM/counter"}, {"mail", "v1://counter"}} {
				routestest.Eventually(t, "an update of "+tt.alias, func() bool {
					w.up[tt.alias].Notify("notifications/resources/updated", []byte(`{"uri":"v1://counter"}`))
					select {
					case m := <-updates:
						has(t, tt.alias, string(m.Params), `"uri":"`+tt.want+`"`)
						return true
					case <-time.After(50 * time.Millisecond):
						return false
					}
				})
				for len(updates) > 0 {
					<-updates
				}
			}
		})
	}
}

// TestClaimsOutlive checks that URIs stay with their server after a third server
// was added, servers were disabled and removed, and the gateway was restarted.
func TestClaimsOutlive(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, "mail", "crm")
		before := lists(t, w.client(t, "2025-11-25"))
		w.add(t, "box")
		const box = "v1://+box/counter memo://+box~/insights ui://+box/w/v.html "
		after := lists(t, w.client(t, "2025-11-25"))
		if !strings.HasPrefix(after, box) || strings.ReplaceAll(strings.TrimPrefix(after, box), " v1://+box/item/{n}", "") != before {
			t.Errorf("lists\n%s\nbefore\n%s", after, before)
		}
		w.start(t)
		if got := lists(t, w.client(t, "2025-11-25")); got != after {
			t.Errorf("after a restart:\n%s\nwant\n%s", got, after)
		}
		w.apply(t, "mail", `,"enabled":false`)
		for _, version := range eras {
			c, code := w.client(t, version), "-32002"
			if version >= routestest.Stateless {
				code = "-32602"
			}
			for _, uri := range []string{"v1://counter", "v1://item/7", "v1://+mail/counter", "x://unclaimed"} {
				has(t, "read "+uri, send(t, c, "resources/read", `{"uri":"`+uri+`"}`), `"code":`+code, "server mail", "RESOURCE_NOT_FOUND")
			}
			has(t, "read of crm", send(t, c, "resources/read", `{"uri":"v1://+crm/counter"}`), "crm of v1://counter")
			has(t, "completion", send(t, c, "completion/complete", `{"ref":{"type":"ref/resource","uri":"v1://item/{n}"},"argument":{"name":"n","value":""}}`), `"code":`+code, "server mail")
		}
		if err := w.Services.Projects.DeleteServer(t.Context(), w.ServerID(t, "p", "mail")); err != nil {
			t.Fatal(err)
		}
		c := w.client(t, "2025-11-25")
		has(t, "read of a removed server", send(t, c, "resources/read", `{"uri":"v1://counter"}`), `"code":-32002`, "server mail")
		w.apply(t, "mail", "")
		w.Sync(t, "p", "mail")
		if got := lists(t, c); got != after {
			t.Errorf("after mail came back:\n%s\nwant\n%s", got, after)
		}
	})
}

// TestClaimsOnReplica checks that another replica applies a new claim at once.
func TestClaimsOnReplica(t *testing.T) {
	w := newWorld(t, modelstest.Postgres(t), "mail")
	other := &world{dsn: w.dsn, up: w.up, urls: w.urls}
	other.start(t)
	c := other.client(t, "2025-11-25")
	w.add(t, "crm")
	routestest.Eventually(t, "the claims of crm", func() bool { return strings.Contains(lists(t, c), "v1://+crm/counter") })
	has(t, "read", send(t, c, "resources/read", `{"uri":"v1://+crm/counter"}`), "crm of v1://counter")
}

// TestAddressesNeedAccess checks that an address doesn't widen what a caller of a
// toolset may read.
func TestAddressesNeedAccess(t *testing.T) {
	w := newWorld(t, sqlite(t), "mail", "crm")
	w.Apply(t, `{"projects":{"p":{"toolsets":{"tools":{"include":["crm__show"]},"all":{"include":["crm__show"],"offersOf":["crm"]}}}}}`)
	open := map[string]string{"v1://+crm/counter": "crm of v1://counter", "ui://+crm/w/v.html": "crm of ui://w/v.html", "x://+crm/any": "crm of x://any"}
	for toolset, readable := range map[string]map[string]string{"all": open, "tools": {"ui://+crm/w/v.html": "crm of ui://w/v.html"}} {
		c := (&routestest.Client{Endpoint: w.origin + "/v1/mcp/p/toolsets/" + toolset + "/request", Version: "2025-11-25"}).Open(t)
		for _, uri := range []string{"v1://+crm/counter", "ui://+crm/w/v.html", "x://+crm/any", "v1://counter", "v1://+mail/counter", "ui://w/v.html", "x://any"} {
			got := send(t, c, "resources/read", `{"uri":"`+uri+`"}`)
			if want := readable[uri]; want != "" {
				has(t, toolset+" "+uri, got, want)
				continue
			}
			has(t, toolset+" "+uri, got, `"code":-32002`)
			if strings.Contains(got, "mail") && !strings.Contains(uri, "mail") {
				t.Errorf("%s %s names a hidden server: %s", toolset, uri, got)
			}
		}
	}
}

// TestOverlappingExpression checks that a template without a scheme is left out
// with a warning if it overlaps.
func TestOverlappingExpression(t *testing.T) {
	w := newWorld(t, sqlite(t), "mail")
	o := options("crm")
	o.Methods["resources/templates/list"] = func(context.Context, *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.JSON(`{"resourceTemplates":[{"uriTemplate":"{+uri}","name":"t"}]}`)
	}
	w.urls["crm"] = upstreamtest.New(o).Start(t)
	w.apply(t, "crm", "")
	w.Sync(t, "p", "crm")
	if got := lists(t, w.client(t, "2025-11-25")); strings.Contains(got, "{+uri}") || !strings.Contains(got, "v1://item/{n}") {
		t.Errorf("lists %s", got)
	}
	var row models.Inventory
	if err := w.Services.DB.First(&row, "server_id = ?", w.ServerID(t, "p", "crm")).Error; err != nil {
		t.Fatal(err)
	}
	has(t, "warnings", strings.Join(row.Warnings, "\n"), `resource template "{+uri}" was omitted: another server showed an overlapping one first`)
}

// TestPageShowsAddresses checks the addresses on the pages of servers.
func TestPageShowsAddresses(t *testing.T) {
	a := routestest.NewAdmin(t)
	w := &world{App: a.App, up: map[string]*upstreamtest.Server{}, urls: map[string]string{}}
	w.add(t, "mail", "crm")
	page := func(alias string) string {
		status, body := a.Ask(t, "GET", "/admin/projects/p/servers/"+w.ServerID(t, "p", alias), "", false)
		if status != 200 {
			t.Fatalf("page of %s: %d", alias, status)
		}
		return body
	}
	has(t, "page of crm", page("crm"), "Addresses with alias", "v1://+crm/counter", "v1://+crm/item/{n}", "memo://+crm~/insights", "ui://+crm/w/v.html", ">mail</td>", "1 prompt, 4 resources")
	if got := page("mail"); strings.Contains(got, "Addresses with alias") {
		t.Error("the page of mail has qualified addresses")
	}
}
