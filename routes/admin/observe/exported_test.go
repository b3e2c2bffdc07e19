package observe_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/activity"
	views "mcpgateway/views/admin"
)

var rowsOfExport = regexp.MustCompile(`<p class="small">\s*(.*?) when this page loaded`)

// announced returns the number of rows that a page announces for its export.
func announced(page string) string {
	if m := rowsOfExport.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

func TestActivityExportAnnouncesRows(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := watch(t, dsn)
		project, err := a.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		type announcement struct {
			rows int
			want string
		}
		tests := []announcement{{1, "1 call"}, {39, "39 calls"}, {40, "40 calls"}, {41, "41 calls"}}
		if a.Services.DB.Name() == "sqlite" { // so many rows take long, and the limit is the same
			tests = append(tests, announcement{views.MaxCounted - 1, "9,999 calls"}, announcement{views.MaxCounted, "10,000 calls"}, announcement{views.MaxCounted + 1, "More than 10,000 calls"})
		}
		for _, tt := range tests {
			var calls []models.Call
			for ; stored < tt.rows; stored++ {
				id, err := uuid.NewV7()
				if err != nil {
					t.Fatal(err)
				}
				calls = append(calls, models.Call{ID: id.String(), At: time.Now().Add(-time.Second), ProjectID: project.Project.ID, Principal: "anonymous", Tool: "up__a", Server: "up", Outcome: models.CallOK})
			}
			if err := a.Services.DB.CreateInBatches(calls, 500).Error; err != nil {
				t.Fatal(err)
			}
			if got := announced(a.get(t, activityPath).Body); got != tt.want {
				t.Errorf("%d calls: page announces %q, want %q", tt.rows, got, tt.want)
			}
		}
		a.call(t, 0, "up__b", "anonymous", models.CallFailed)
		a.stored(t, stored+1)
		if got := announced(a.get(t, activityPath+"?query=outcome:failed").Body); got != "1 call" {
			t.Errorf("filtered page announces %q, want 1 call", got)
		}
	})
}

func TestAuditExportAnnouncesRows(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.NewAdminOn(t, dsn)
		log, stored := activity.NewAudit(a.Services.DB, time.Now), 0
		for _, n := range []int{0, 1, 39, 40, 41, 90} {
			entries := make([]activity.Entry, n-stored)
			for i := range entries {
				entries[i] = activity.Entry{Action: "key.created", Project: "gone"}
			}
			if err := log.RecordAll(a.Services.DB, entries); err != nil {
				t.Fatal(err)
			}
			stored = n
			_, page, _ := a.Send(t, "/admin/audit?project=gone", nil)
			want := fmt.Sprintf("%d rows", n)
			if n == 1 {
				want = "1 row"
			}
			if got := announced(page); got != want {
				t.Errorf("page announces %q, want %q", got, want)
			}
		}
		_, page, _ := a.Send(t, "/admin/audit?project=gone", nil)
		_, cursor, _ := strings.Cut(page, "cursor=")
		cursor, _, _ = strings.Cut(cursor, `"`)
		if _, page, _ = a.Send(t, "/admin/audit?project=gone&cursor="+strings.ReplaceAll(cursor, "&amp;", "&"), nil); announced(page) != "90 rows" {
			t.Errorf("second page announces %q, want 90 rows", announced(page))
		}
	})
}
