package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
)

// statusWord matches the state of a server on its page, and of its connection.
var (
	statusWord     = regexp.MustCompile(`id="server-badge">([^<]+)<`)
	connectionWord = regexp.MustCompile(`class="status[^"]*">([^<]+)<`)
)

func TestServerStates(t *testing.T) {
	w := newFormWorld(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{
		"fresh":{"url":"https://a.example/mcp","authType":"oauth"},"was":{"url":"https://b.example/mcp","authType":"oauth"},"ended":{"url":"https://c.example/mcp","authType":"oauth"},
		"bare":{"url":%q},"wrong":{"url":%q,"authType":"bearer","authBearer":"wrong"},"down":{"url":"http://127.0.0.1:9/mcp"}}}}}`, refusing.URL, refusing.URL))
	ago := time.Now().UTC().Add(-time.Hour).Truncate(time.Millisecond)
	for alias, state := range map[string]string{"was": "needs_reauth", "ended": "not_connected", "fresh": "needs_reauth"} {
		row := models.Connection{ServerID: w.ServerID(t, "p", alias), State: state, Reason: "invalid_grant", ConnectedAt: &ago, CreatedAt: ago, UpdatedAt: ago}
		if alias == "fresh" {
			row.ConnectedAt = nil
		}
		if err := w.Services.DB.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Services.Waiting.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, alias := range []string{"fresh", "was", "ended", "bare", "wrong", "down"} {
		_, _ = w.Services.Syncer.Sync(t.Context(), w.ServerID(t, "p", alias)) // every sync fails
	}
	for _, tt := range []struct{ alias, word, connection, action, title, fix string }{
		{"fresh", "Not connected", "Not connected", "Connect", "Sign in at a.example so that we can read its tools.", "Connect"},
		{"was", "Reconnect needed", "Reconnect needed", "Reconnect", "Reconnect needed: access was revoked.", "Reconnect to sign in again."},
		{"ended", "Not connected", "Not connected", "Connect", "Not connected.", "Connect"},
		{"bare", "Token missing", "", "", "Token missing.", "Add token"},
		{"wrong", "Token rejected", "", "", "This server doesn&#39;t work: token rejected.", "Edit credentials"},
		{"down", "Down", "", "", "We can&#39;t reach this server: connection refused.", "Edit URL"},
	} {
		t.Run(tt.alias, func(t *testing.T) {
			id := w.ServerID(t, "p", tt.alias)
			body := w.send(t, "/admin/projects/p/servers/"+id, nil).Body
			if found := statusWord.FindStringSubmatch(body); found == nil || found[1] != tt.word {
				t.Errorf("state = %q, want %q", found, tt.word)
			}
			for _, want := range []string{"Last successful sync: never", "Last try", ", failed", tt.title, tt.fix} {
				if !strings.Contains(body, want) {
					t.Errorf("page lacks %q", want)
				}
			}
			if strings.Count(body, `role="alert"`) != 1 {
				t.Errorf("page has %d error boxes, want 1", strings.Count(body, `role="alert"`))
			}
			for _, not := range []string{"Never synced", "all on", ">Never<"} {
				if strings.Contains(body, not) {
					t.Errorf("page contains %q", not)
				}
			}
			if tt.connection == "" {
				return
			}
			_, link, _ := strings.Cut(body, "/admin/connections/"+id+"/start")
			if link, _, _ = strings.Cut(link, "</a>"); !strings.HasSuffix(strings.TrimSpace(link), ">"+tt.action) && !strings.HasSuffix(strings.TrimSpace(link), " "+tt.action) {
				t.Errorf("action = %q, want %s", link, tt.action)
			}
			connection := w.send(t, "/admin/connections/"+id, nil).Body
			if found := connectionWord.FindStringSubmatch(connection[strings.Index(connection, "<main"):]); found == nil || found[1] != tt.connection {
				t.Errorf("connection = %q, want %q", found, tt.connection)
			}
		})
	}
}
