package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
)

// TestProtocolKeysOfForms changes the keys about the protocol on the pages of a
// project and a server. Refused values stay in the form.
func TestProtocolKeysOfForms(t *testing.T) {
	a := routestest.NewAdmin(t)
	const settings = "/admin/projects/p/settings"
	form := values("name", "P", "authMode", "api_key", "toolExposure", "full", "toolNames", "bare", "toolNameLimit", "0", "rateLimit.perSecond", "0", "rateLimit.burst", "0",
		"instructions", " Be <kind>.\r\nAlways. ", "websiteUrl", "https://x.example", "icon", "https://x.example/i.png", "serverCard", "on", "validateArguments", "on")
	if status, body, _ := a.Send(t, settings, form); status != http.StatusSeeOther {
		t.Fatalf("settings: %d %s", status, body)
	}
	p, err := a.Services.Projects.Project(t.Context(), "p")
	if err != nil || p.ToolNames != "bare" || p.Instructions != "Be <kind>.\nAlways." || p.WebsiteURL != "https://x.example" || p.Icon != "https://x.example/i.png" || !p.ServerCard || !p.ValidateArguments {
		t.Errorf("stored %+v, %v", p, err)
	}
	form.Set("icon", "http://x.example/<i>.png")
	if status, body, _ := a.Send(t, settings, form); status != http.StatusUnprocessableEntity || !strings.Contains(body, "http://x.example/&lt;i&gt;.png") || !strings.Contains(body, "Use an https: URL, or a data: URL") {
		t.Errorf("refused icon: %d %s", status, body)
	}
	for _, off := range []string{"serverCard", "validateArguments", "instructions", "icon"} {
		form.Del(off)
	}
	if status, _, _ := a.Send(t, settings, form); status != http.StatusSeeOther {
		t.Errorf("turned off: %d", status)
	}
	if p, err = a.Services.Projects.Project(t.Context(), "p"); err != nil || p.ServerCard || p.ValidateArguments || p.Instructions+p.Icon != "" {
		t.Errorf("stored %+v, %v", p, err)
	}

	id := a.ServerID(t, "p", "clock")
	server, err := a.Services.Projects.Server(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	edit := "/admin/projects/p/servers/" + id + "/edit"
	for _, tt := range []struct {
		version, transport, seconds string
		status                      int
		want                        string
	}{
		{"2025-06-18", "auto", "86400", 303, ""},
		{"2025-06-18", "auto", "86400.1", 422, "from 1000 to 86400000"},
		{"2025-06-18", "auto", "1", 303, ""},
		{"2025-06-18", "auto", "0.9", 422, "from 1000 to 86400000"},
		{"2025-06-18", "auto", "soon", 422, "Enter a number of seconds"},
		{"2026-07-28", "sse", "2", 422, "HTTP+SSE ends with 2024-11-05"},
		{"2027-01-01", "auto", "2", 422, "Use one of auto, 2026-07-28"},
		{"auto", "sse", "2", 303, ""},
	} {
		status, body, _ := a.Send(t, edit, values("alias", "clock", "url", server.URL, "transport", tt.transport, "timeout", "60", "maxConcurrent", "512", "sessionMode", "shared", "definitionPolicy", "follow",
			"protocolVersion", tt.version, "taskTimeout", tt.seconds))
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%+v: %d %s", tt, status, body)
		}
	}
	if server, err = a.Services.Projects.Server(t.Context(), id); err != nil || server.ProtocolVersion != "auto" || server.TaskTimeoutMS != 2000 {
		t.Errorf("stored %q, %d, %v", server.ProtocolVersion, server.TaskTimeoutMS, err)
	}
}
