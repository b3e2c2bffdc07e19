package servers_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream"
)

// TestLearnedRevisionOnPage checks the revision on the page of its server, with the
// message of the failed call.
func TestLearnedRevisionOnPage(t *testing.T) {
	a := routestest.NewAdmin(t)
	id := a.ServerID(t, "p", "clock")
	const label = "Protocol for requests to clients"
	page := func() string {
		status, body, _ := a.Send(t, "/admin/projects/p/servers/"+id, nil)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return body
	}
	if strings.Contains(page(), label) {
		t.Error("shown before anything was learned")
	}
	a.Services.Revisions.Learn(&upstream.Target{ServerID: id, Version: 1}, "2025-11-25", "server-initiated <b>requests</b> are not supported")
	a.Services.Revisions.Wait()
	body := page()
	for _, part := range []string{label, "2025-11-25 since ", "server-initiated &lt;b&gt;requests&lt;/b&gt; are not supported"} {
		if !strings.Contains(body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
