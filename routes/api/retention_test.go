package api_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/web/webtest"
)

func TestProjectRetention(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.admin(t, "POST", "/api/projects", `{"projectSlug":"work"}`, 201, nil)
		for _, tt := range []struct {
			field string
			value int
			ok    bool
		}{
			{"calls", 0, false}, {"calls", 1, true}, {"calls", 365, true}, {"calls", 366, false},
			{"payloads", -1, false}, {"payloads", 0, true}, {"payloads", 30, true}, {"payloads", 31, false},
			{"runs", 0, false}, {"runs", 1, true}, {"runs", 1000, true}, {"runs", 1001, false},
		} {
			body, status, want := fmt.Sprintf(`{"retention":{%q:%d}}`, tt.field, tt.value), 200, fmt.Sprintf(`%q:%d`, tt.field, tt.value)
			if !tt.ok {
				status, want = 422, `"retention.`+tt.field+`":`
			}
			webtest.Check(t, webtest.Case{WantBody: []string{want}}, a.admin(t, "PATCH", "/api/projects/work", body, status, nil))
		}
		webtest.Check(t, webtest.Case{WantBody: []string{`"retention.days"`}}, a.admin(t, "PATCH", "/api/projects/work", `{"retention":{"days":1}}`, 422, nil))
		file, err := a.Services.Projects.Export(t.Context(), "work")
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(file)), ""), `"retention":{"calls":365,"payloads":30,"runs":1000}`) {
			t.Errorf("export = %s (%v)", file, err)
		}
		a.Apply(t, `{"projects":{"work":{"retention":{"payloads":0}}}}`)
		webtest.Check(t, webtest.Case{WantBody: []string{`"retention":{"calls":365,"payloads":0,"runs":1000}`}}, a.admin(t, "GET", "/api/projects/work", "", 200, nil))
	})
}
