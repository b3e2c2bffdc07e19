package servers_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
)

func TestMaxConcurrentOfServerForm(t *testing.T) {
	a := routestest.NewAdmin(t)
	id := a.ServerID(t, "p", "clock")
	server := "/admin/projects/p/servers/" + id
	_, edit, _ := a.Send(t, server+"/edit", nil)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+`).FindString(html.UnescapeString(edit))
	if address == "" || !strings.Contains(edit, `value="512"`) {
		t.Fatalf("form lacks the URL or the default: %s", edit)
	}
	for _, tt := range []struct {
		value  string
		status int
		want   int64 // stored afterwards
	}{
		{"1", 303, 1}, {"0", 422, 1}, {"2", 303, 2}, {"4095", 303, 4095}, {"4096", 303, 4096}, {"4097", 422, 4096},
		{"", 422, 4096}, {"1.5", 422, 4096}, {"-1", 422, 4096}, {"many", 422, 4096}, {"99999999999999999999", 422, 4096},
	} {
		form := url.Values{"alias": {"clock"}, "url": {address}, "transport": {"auto"}, "timeout": {"60"}, "maxConcurrent": {tt.value},
			"sessionMode": {"shared"}, "definitionPolicy": {"follow"}}
		status, body, _ := a.Send(t, server+"/edit", form)
		row, err := a.Services.Projects.Server(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if status != tt.status || row.MaxConcurrent != tt.want {
			t.Errorf("%q: status %d, stored %d, want %d, %d", tt.value, status, row.MaxConcurrent, tt.status, tt.want)
		}
		if status == 422 && !strings.Contains(body, "from 1 to 4096") {
			t.Errorf("%q: page lacks the range", tt.value)
		}
	}
	if _, page, _ := a.Send(t, server, nil); !strings.Contains(page, "4,096") {
		t.Error("server page lacks the limit")
	}
}
