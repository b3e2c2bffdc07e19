package tools_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

const list = "/admin/projects/t/tools"

// world is an application with the project t and its servers.
type world struct {
	*routestest.Admin
	servers map[string]*upstreamtest.Server
}

// newWorld adds servers with tools. Those of the server held require approvals.
func newWorld(t *testing.T, tools map[string][]string) *world {
	t.Helper()
	w := &world{routestest.NewAdmin(t), map[string]*upstreamtest.Server{}}
	var servers, aliases []string
	for alias, definitions := range tools {
		server := upstreamtest.New(upstreamtest.Options{Name: alias, Tools: asTools(definitions)})
		w.servers[alias] = server
		policy := ""
		if alias == "held" {
			policy = `,"definitionPolicy":"approve"`
		}
		servers = append(servers, fmt.Sprintf(`%q:{"url":%q%s}`, alias, server.Start(t), policy))
		aliases = append(aliases, alias)
	}
	w.Apply(t, `{"projects":{"t":{"authMode":"none","mcpServers":{`+strings.Join(servers, ",")+`}}}}`)
	w.Sync(t, "t", aliases...)
	return w
}

func asTools(definitions []string) (tools []upstreamtest.Tool) {
	for _, d := range definitions {
		tools = append(tools, upstreamtest.Tool{Definition: d})
	}
	return tools
}

// plain returns definitions of n tools.
func plain(n int) (all []string) {
	for i := range n {
		all = append(all, definition(fmt.Sprintf("tool_%03d", i), "Does it.", ""))
	}
	return all
}

func definition(name, description, annotations string) string {
	if annotations != "" {
		annotations = `,"annotations":{` + annotations + `}`
	}
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}%s}`, name, description, annotations)
}

// called stores calls of a tool.
func (w *world) called(t *testing.T, tool string, n int, ago time.Duration) {
	t.Helper()
	project, err := w.Services.Directory.Project("t")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-ago)
	for i := range n {
		call := models.Call{ID: fmt.Sprint(tool, ago, i), At: at, ProjectID: project.Project.ID, Tool: tool, Principal: "key:1", Outcome: models.CallOK}
		if err := w.Services.DB.Create(&call).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// get returns the HTML of a page.
func (w *world) get(t *testing.T, path string) string {
	t.Helper()
	status, body, _ := w.Send(t, path, nil)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, status, body)
	}
	return body
}

var (
	rowTicks    = regexp.MustCompile(`name="tool" value="([^"]+)"`)
	serverTicks = regexp.MustCompile(`name="server" value="([^"]+)"`)
	chips       = regexp.MustCompile(`class="chip[^"]*"[^>]*>([^<]+) <span class="n">([^<]*)<`)
	sorted      = regexp.MustCompile(`aria-sort="(\w+)"><a href="([^"]+)">([^<]+)<`)
	shownRows   = regexp.MustCompile(`aria-label="Pages"><span>([^<]+)<`)
)

// all returns the first groups of every match.
func all(re *regexp.Regexp, body string) string {
	var found []string
	for _, m := range re.FindAllStringSubmatch(body, -1) {
		found = append(found, strings.TrimSpace(html.UnescapeString(strings.Join(m[1:], " "))))
	}
	return strings.Join(found, ", ")
}

// query returns the URL of the list with parameters.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return list + "?" + q.Encode()
}
