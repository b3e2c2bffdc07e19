package web_test

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestErrorBodyHelp(t *testing.T) {
	tests := []struct {
		name string
		help web.Help
		want string
	}{
		{"with documentation", func(code fault.Code) string { return "https://gateway.example/docs#" + string(code) }, `"help":"https://gateway.example/docs#NOT_FOUND"}`},
		{"without documentation", nil, `"requestId":"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			app, _ := webtest.NewApp(t, func(o *web.Options) { o.Help = tt.help })
			var x web.ErrorContext
			app.Get("/", func(c *fiber.Ctx) error {
				x = web.EventOf(c).Errors()
				return fault.NotFound("page", "x")
			})
			a := webtest.Send(t, app, webtest.Case{Path: "/"})
			if !strings.Contains(a.Body, tt.want) || strings.Contains(a.Body, `"help"`) != (tt.help != nil) {
				t.Errorf("body = %s, want %s", a.Body, tt.want)
			}
			if (x.Help(fault.CodeNotFound) == "") != (tt.help == nil) || x.Help("") != "" || x.RequestID == "" {
				t.Errorf("Errors() = %+v", x)
			}
		})
	}
}
