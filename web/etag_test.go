package web_test

import (
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestETagDependsOnPartsOnly(t *testing.T) {
	tags := map[string]bool{}
	for _, parts := range [][]string{{}, {""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"}} {
		tag := web.ETag(parts...)
		if tags[tag] || tag != web.ETag(parts...) || tag[0] != '"' || tag[len(tag)-1] != '"' {
			t.Errorf("ETag(%q) = %s", parts, tag)
		}
		tags[tag] = true
	}
}

func TestUnchangedReturns304(t *testing.T) {
	app, _ := webtest.NewApp(t)
	tag := web.ETag("x")
	app.Get("/", func(c *fiber.Ctx) error {
		if web.Unchanged(c, tag, "public, max-age=60") {
			return nil
		}
		return c.SendString("whole")
	})
	headers := map[string]string{"ETag": tag, "Cache-Control": "public, max-age=60"}
	for name, tc := range map[string]struct {
		ifNoneMatch string
		status      int
	}{
		"no condition": {"", 200},
		"tag":          {tag, 304},
		"weak":         {"W/" + tag, 304},
		"in a list":    {`"a" , W/"b",` + tag, 304},
		"any":          {"*", 304},
		"another":      {`"a"`, 200},
		"no quotes":    {tag[1 : len(tag)-1], 200},
	} {
		t.Run(name, func(t *testing.T) {
			answer := webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"If-None-Match": tc.ifNoneMatch}})
			webtest.Check(t, webtest.Case{Status: tc.status, WantHeader: headers}, answer)
			if (answer.Body == "") != (tc.status == 304) {
				t.Errorf("body %q", answer.Body)
			}
		})
	}
}
