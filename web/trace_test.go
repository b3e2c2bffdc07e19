package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// TestTracePropagation follows W3C Trace Context, sections 3.2 and 3.3.
func TestTracePropagation(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	valid := "00-" + id + "-" + parent + "-01"
	long := strings.Repeat("a", 511)
	for name, tc := range map[string]struct {
		parent, state string
		id            string // empty means a new trace
		flags         string
		wantState     string
	}{
		"sampled":                 {valid, "", id, "01", ""},
		"not sampled":             {"00-" + id + "-" + parent + "-00", "", id, "00", ""},
		"other flags":             {"00-" + id + "-" + parent + "-fe", "", id, "00", ""},
		"state":                   {valid, "vendor=1,other=2", id, "01", "vendor=1,other=2"},
		"longest state":           {valid, long + "b", id, "01", long + "b"},
		"state too long":          {valid, long + "bc", id, "01", ""},
		"state not printable":     {valid, "a=\xc3\xa9", id, "01", ""},
		"later version":           {"01-" + id + "-" + parent + "-01-more", "", id, "01", ""},
		"later version, as short": {"cc-" + id + "-" + parent + "-01", "", id, "01", ""},
		"nothing":                 {"", "vendor=1", "", "00", ""},
		"garbage":                 {"hello", "vendor=1", "", "00", ""},
		"version ff":              {"ff-" + id + "-" + parent + "-01", "", "", "00", ""},
		"this version, longer":    {valid + "-more", "", "", "00", ""},
		"later version, no dash":  {"01-" + id + "-" + parent + "-01more", "", "", "00", ""},
		"capitals":                {strings.ToUpper(valid), "vendor=1", "", "00", ""},
		"trace of zeros":          {"00-" + strings.Repeat("0", 32) + "-" + parent + "-01", "", "", "00", ""},
		"parent of zeros":         {"00-" + id + "-" + strings.Repeat("0", 16) + "-01", "", "", "00", ""},
		"too short":               {valid[:54], "", "", "00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			app, log := webtest.NewApp(t)
			var first, second web.Trace
			app.Get("/x", func(c *fiber.Ctx) error {
				first, second = web.EventOf(c).Trace(), web.EventOf(c).Trace()
				return nil
			})
			header := map[string]string{}
			for name, value := range map[string]string{"traceparent": tc.parent, "tracestate": tc.state} {
				if value != "" {
					header[name] = value
				}
			}
			answer := webtest.Send(t, app, webtest.Case{Path: "/x", Header: header})
			want := tc.id
			if want == "" {
				want = strings.ReplaceAll(answer.Header.Get("X-Request-Id"), "-", "")
			}
			if !regexp.MustCompile(`^00-` + want + `-[0-9a-f]{16}-` + tc.flags + `$`).MatchString(first.Parent) {
				t.Errorf("traceparent %q, want trace %s, flags %s", first.Parent, want, tc.flags)
			}
			if first.State != tc.wantState {
				t.Errorf("tracestate %q", first.State)
			}
			if strings.Contains(first.Parent, parent) || first.Parent == second.Parent {
				t.Errorf("parents %q, %q; want new ones", first.Parent, second.Parent)
			}
			if !strings.Contains(log.String(), `"trace_id":"`+want+`"`) {
				t.Errorf("log line %s", log)
			}
		})
	}
}

func TestTraceStateHeadersAreJoined(t *testing.T) {
	app, _ := webtest.NewApp(t)
	var got web.Trace
	app.Get("/x", func(c *fiber.Ctx) error {
		got = web.EventOf(c).Trace()
		return nil
	})
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	r.Host = "127.0.0.1:8080"
	r.Header["Traceparent"] = []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	r.Header["Tracestate"] = []string{"a=1", "b=2"}
	answer, err := app.Test(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if got.State != "a=1,b=2" {
		t.Errorf("tracestate %q", got.State)
	}
}
