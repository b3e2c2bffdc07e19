package observe_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/activity"
)

// recordAt adds a row to the audit log at a time.
func recordAt(t *testing.T, a *routestest.Admin, at time.Time, e activity.Entry) {
	t.Helper()
	log := activity.NewAudit(a.Services.DB, func() time.Time { return at })
	tx := a.Services.DB.Begin()
	if err := log.Record(tx, e); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit().Error; err != nil {
		t.Fatal(err)
	}
}

var dayOfRows = regexp.MustCompile(`<th scope="rowgroup"[^>]*><time datetime="(\d{4}-\d\d-\d\d)`)

func TestAuditDaysAndFilter(t *testing.T) {
	a := routestest.NewAdmin(t)
	for i, at := range []string{"2031-01-30T23:59:59.999Z", "2031-01-31T00:00:00Z", "2031-01-31T23:59:59.999Z", "2031-02-01T00:00:00Z"} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		recordAt(t, a, when, activity.Entry{Action: "key.created", Object: "key-" + string(rune('a'+i)), Project: "gone"})
	}
	for _, tt := range []struct {
		query  string
		status int
		want   string // letters of the shown keys, newest first
		days   []string
	}{
		{"project=gone", 200, "dcba", []string{"2031-02-01", "2031-01-31", "2031-01-30"}},
		{"from=2031-01-31", 200, "dcb", []string{"2031-02-01", "2031-01-31"}},
		{"since=2031-01-31", 200, "dcb", []string{"2031-02-01", "2031-01-31"}},
		{"project=gone&to=2031-01-31", 200, "cba", []string{"2031-01-31", "2031-01-30"}},
		{"from=2031-01-31&to=2031-01-31", 200, "cb", []string{"2031-01-31"}},
		{"from=2031-01-31&object=key-d", 200, "d", []string{"2031-02-01"}},
		{"from=2031-02-02", 200, "", nil},
		{"from=31.1.2031", 400, "", nil},
		{"from=2031-01-31&to=x", 400, "", nil},
	} {
		status, body, _ := a.Send(t, "/admin/audit?"+tt.query, nil)
		shown := ""
		for _, m := range regexp.MustCompile(`key-([a-d])[ <]`).FindAllStringSubmatch(body, -1) {
			shown += m[1]
		}
		var days []string
		for _, m := range dayOfRows.FindAllStringSubmatch(body, -1) {
			days = append(days, m[1])
		}
		if status != tt.status || shown != tt.want || !slices.Equal(days, tt.days) {
			t.Errorf("%s: status %d, keys %q on %q, want %d, %q on %q", tt.query, status, shown, days, tt.status, tt.want, tt.days)
		}
		if tt.status == 400 && !strings.Contains(body, "Use a date like 2027-01-31.") {
			t.Errorf("%s: page lacks the advice", tt.query)
		}
	}
	_, body, _ := a.Send(t, "/admin/audit?project=gone", nil)
	if !strings.Contains(body, `<option value="p"`) || !strings.Contains(body, `<option value="gone" selected`) {
		t.Error("the list of projects lacks a project or the deleted one of the filter")
	}
}

func TestAuditListsProjectsByName(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Apply(t, `{"projects":{"z1":{"name":"beta"},"a1":{"name":"Gamma"},"m2":{"name":"Alpha"},"m1":{"name":"alpha"},"q":{"name":"omega"},"b":{"name":"Delta"}}}`)
	_, body, _ := a.Send(t, "/admin/audit", nil)
	_, list, _ := strings.Cut(body, `>All projects</option>`)
	list, _, _ = strings.Cut(list, "</select>")
	var slugs []string
	for _, m := range regexp.MustCompile(`<option value="([^"]+)"`).FindAllStringSubmatch(list, -1) {
		slugs = append(slugs, m[1])
	}
	if want := []string{"m1", "m2", "z1", "b", "a1", "q", "p"}; !slices.Equal(slugs, want) {
		t.Errorf("projects %q, want %q", slugs, want)
	}
}

func TestAuditVerify(t *testing.T) {
	a := routestest.NewAdmin(t)
	if _, body, _ := a.Send(t, "/admin/audit?verify=1", nil); !regexp.MustCompile(`Intact: \d+ rows checked`).MatchString(body) || !strings.Contains(body, `aria-label="Fingerprint"`) {
		t.Error("page lacks the result for an intact log")
	}
	// The database rejects changes of rows, so the head is changed instead.
	if err := a.Services.DB.Exec("UPDATE audit_heads SET seq = seq + 1 WHERE id = 1").Error; err != nil {
		t.Fatal(err)
	}
	if _, body, _ := a.Send(t, "/admin/audit?verify=1", nil); !strings.Contains(body, "Tampered") || !strings.Contains(body, "Compare with a backup.") {
		t.Error("page lacks the result for a tampered log")
	}
}

func TestAuditExport(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := routestest.NewAdminOn(t, dsn)
		for i, day := range []int{30, 31} {
			recordAt(t, a, time.Date(2031, 1, day, 9, 0, 0, 0, time.UTC), activity.Entry{Action: "key.created", Object: "key-" + string(rune('a'+i)), Project: "gone"})
		}
		_, page, _ := a.Send(t, "/admin/audit?project=gone&from=2031-01-31", nil)
		if !strings.Contains(page, `href="/admin/audit/export?from=2031-01-31&amp;project=gone&amp;format=csv"`) {
			t.Error("the page has no export with its filter")
		}
		_, body, _ := a.Send(t, "/admin/audit/export?project=gone&format=jsonl", nil)
		lines := strings.Split(body, "\n")
		if len(lines) != 4 || !strings.Contains(lines[0], "key-a") || !strings.Contains(lines[1], "key-b") || !strings.HasPrefix(lines[2], `{"complete":true,"rows":2,`) {
			t.Fatalf("export: %s", body)
		}
		seq := regexp.MustCompile(`^{"seq":(\d+),`).FindStringSubmatch(lines[0])[1]
		_, body, _ = a.Send(t, "/admin/audit/export?project=gone&format=csv&after="+seq, nil)
		if strings.Contains(body, "key-a") || !strings.Contains(body, ",key-b,") || !strings.Contains(body, "# complete,1,") {
			t.Errorf("rest: %s", body)
		}
		for query, want := range map[string]string{"format=json": "csv or jsonl", "format=csv&after=-1": "number of a row", "format=csv&from=x": "date"} {
			if status, body, _ := a.Send(t, "/admin/audit/export?"+query, nil); status != 400 || !strings.Contains(body, want) {
				t.Errorf("%s: %d, no %q", query, status, want)
			}
		}
		viewer, _ := a.Join(t, "vera@example.com", "Vera", models.RoleViewer)
		if _, page, _ := viewer.Send(t, "/admin/audit", nil); strings.Contains(page, "/admin/audit/export") {
			t.Error("a viewer sees the export")
		}
		for path, want := range map[string]int{"/admin/audit/export?format=csv": 403, "/api/audit?format=csv": 403, "/api/audit?format=jsonl": 403, "/api/audit": 200, "/api/calls?format=csv": 200, "/admin/projects/p/activity/export?format=jsonl": 200} {
			if status, _, _ := viewer.Send(t, path, nil); status != want {
				t.Errorf("a viewer at %s: %d, want %d", path, status, want)
			}
		}
		for query, want := range map[string]int{"format=csv&after=" + seq: 200, "format=jsonl&limit=1": 400, "format=xml": 400, "after=1": 400, "format=csv&after=x": 400} {
			status, body, _ := a.Send(t, "/api/audit?project=gone&"+query, nil)
			if status != want || want == 200 && (!strings.Contains(body, "# complete,1,") || strings.Contains(body, "key-a")) {
				t.Errorf("API with %s: %d, want %d: %s", query, status, want, body)
			}
		}
	})
}
