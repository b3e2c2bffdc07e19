package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestJSONBody(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Post("/", func(c *fiber.Ctx) error {
		b, err := web.JSONBody(c)
		if err != nil {
			return err
		}
		return c.SendString(fmt.Sprint(len(b)))
	})
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	webtest.Run(t, app, []webtest.Case{
		{Name: "JSON", Method: "POST", Path: "/", Body: "{}", Status: 200, WantBody: []string{"2"}},
		{Name: "with a charset", Path: "/", Body: "{}", Header: header("Content-Type", "Application/JSON ; charset=utf-8"), Status: 200},
		{Name: "text", Path: "/", Body: "{}", Header: header("Content-Type", "text/plain"), Status: 415, WantBody: []string{"UNSUPPORTED_MEDIA_TYPE"}},
		{Name: "form", Path: "/", Body: "{}", Header: header("Content-Type", "application/x-www-form-urlencoded"), Status: 415},
		{Name: "something like JSON", Path: "/", Body: "{}", Header: header("Content-Type", "application/jsonx"), Status: 415},
		{Name: "JSON in a parameter", Path: "/", Body: "{}", Header: header("Content-Type", "text/plain; application/json"), Status: 415},
		{Name: "no type", Path: "/", Body: "{}", Header: header("Content-Type", ""), Status: 415},
		{Name: "identity", Path: "/", Body: "{}", Header: header("Content-Encoding", "identity"), Status: 200},
		{Name: "gzip", Path: "/", Body: "{}", Header: header("Content-Encoding", "gzip"), Status: 415, WantBody: []string{"without Content-Encoding"}},
		{Name: "br", Path: "/", Body: "{}", Header: header("Content-Encoding", "br"), Status: 415},
		{Name: "two encodings", Path: "/", Body: "{}", Header: header("Content-Encoding", "identity, gzip"), Status: 415},
		{Name: "below the limit", Path: "/", Body: strings.Repeat(" ", web.MaxBody-1), Status: 200, WantBody: []string{fmt.Sprint(web.MaxBody - 1)}},
		{Name: "at the limit", Path: "/", Body: strings.Repeat(" ", web.MaxBody), Status: 200, WantBody: []string{fmt.Sprint(web.MaxBody)}},
	})
}

func TestJSONStrict(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Post("/", func(c *fiber.Ctx) error {
		body := struct {
			Name  string `json:"name"`
			Count *int64 `json:"count"`
			Inner struct {
				Flag bool `json:"flag"`
			} `json:"inner"`
		}{Name: "before"}
		if err := web.BindJSON(c, &body); err != nil {
			return err
		}
		return c.JSON(body)
	})
	bad := func(name, body string, says ...string) webtest.Case {
		return webtest.Case{Name: name, Path: "/", Body: body, Status: 422, WantBody: append(says, "VALIDATION_FAILED"), NotBody: []string{"Go ", "struct"}}
	}
	nested := func(n int) string { return strings.Repeat(`{"inner":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	webtest.Run(t, app, []webtest.Case{
		{Name: "all", Path: "/", Body: ` {"name":"x","count":9007199254740993,"inner":{"flag":true}} `, Status: 200, WantJSON: `{"name":"x","count":9007199254740993,"inner":{"flag":true}}`},
		{Name: "nothing", Method: "POST", Path: "/", Status: 200, WantJSON: `{"name":"before","count":null,"inner":{"flag":false}}`},
		{Name: "empty object", Path: "/", Body: "{}", Status: 200, WantJSON: `{"name":"before","count":null,"inner":{"flag":false}}`},
		bad("another case", `{"Name":"x"}`, `"Name":"unknown key"`),
		bad("two cases", `{"name":"x","NAME":"y"}`, `NAME`),
		bad("duplicate", `{"name":"x","name":"y"}`, "duplicate"),
		bad("duplicate inside", `{"inner":{"flag":true,"flag":false}}`, "duplicate"),
		bad("unknown", `{"color":"red"}`, "color"),
		bad("unknown inside", `{"inner":{"Flag":true}}`, `"inner.Flag":"unknown key"`),
		bad("wrong type", `{"count":"7"}`, `"count":"use a whole number"`),
		bad("number as text", `{"name":7}`, `"name":"use a string"`),
		bad("array as object", `{"inner":[]}`, `"inner":"use an object"`),
		bad("a fraction", `{"count":1.5}`, `"count"`),
		bad("too great", `{"count":9223372036854775808}`, `"count"`),
		bad("wrong type inside", `{"inner":{"flag":1}}`, `"inner.flag":"use true or false"`),
		bad("array", `[]`, "send a JSON object"),
		bad("null", `null`, "send a JSON object"),
		bad("two objects", `{}{}`, "send a JSON object"),
		bad("broken", `{"name":`, "send a JSON object"),
		bad("bad UTF-8", "{\"name\":\"\xff\"}", "send a JSON object"),
		bad("64 levels", nested(64), `"inner.inner"`),
		bad("65 levels", nested(65), "nested too deeply"),
		{Name: "text", Path: "/", Body: "{}", Header: map[string]string{"Content-Type": "text/plain"}, Status: 415},
		{Name: "compressed", Path: "/", Body: "{}", Header: map[string]string{"Content-Encoding": "gzip"}, Status: 415},
	})
}
