package servers_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
)

func TestAvailabilityOnPages(t *testing.T) {
	a := routestest.NewAdmin(t)
	id := a.ServerID(t, "p", "clock")
	list, server := "/admin/projects/p/servers", "/admin/projects/p/servers/"+id
	if _, body, _ := a.Send(t, server, nil); strings.Count(body, `class="b-idle"`) < 88 {
		t.Error("parts without observations are not gray")
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	for minute := 720; minute > 120; minute -= 15 { // up for 9 hours, with an hour of failures
		row := models.ServerState{ServerID: id, At: now.Add(-time.Duration(minute) * time.Minute), State: models.ServerUp}
		if minute <= 480 && minute > 420 {
			row.State, row.Cause = models.ServerDown, "refused"
		}
		if err := a.Services.DB.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
	_, body, _ := a.Send(t, server, nil)
	up, down := strings.Count(body, `class="b-ok"`), strings.Count(body, `class="b-bad"`)
	if up < 33 || up > 38 || down < 3 || down > 5 || !strings.Contains(body, "% in the last 24 hours") {
		t.Errorf("%d parts up and %d down", up, down)
	}
	if !strings.Contains(body, "Connection refused") || !strings.Contains(body, "Seen by a sync") {
		t.Error("the outage is missing among the last errors")
	}
	if _, body, _ = a.Send(t, list, nil); !strings.Contains(body, `class="uptime s"`) || !strings.Contains(body, "Availability of clock in the last 24 hours: 9") {
		t.Error("the list lacks the availability")
	}
}

func TestServersBySearchAndState(t *testing.T) {
	a := routestest.NewAdmin(t)
	if status, body, _ := a.Send(t, "/admin/projects/p/servers/"+a.ServerID(t, "p", "clock")+"/enable", url.Values{"enabled": {"false"}}); status != 303 {
		t.Fatalf("status %d: %s", status, body)
	}
	for query, want := range map[string]bool{"": true, "?query=CLO": true, "?query=127.0.0.1": true, "?query=none": false, "?state=off": true, "?state=down": false} {
		_, body, _ := a.Send(t, "/admin/projects/p/servers"+query, nil)
		if shown := strings.Contains(body, `>clock</a>`); shown != want {
			t.Errorf("%s: shown = %v, want %v", query, shown, want)
		}
		if !want && !strings.Contains(body, "No server matches") {
			t.Errorf("%s: no empty state", query)
		}
	}
}
