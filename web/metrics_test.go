package web_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// counter records its calls.
type counter struct {
	mu  sync.Mutex
	got []string
}

func (c *counter) Request(method, route string, status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, fmt.Sprintf("%s %s %d %v", method, route, status, took > 0 && took < time.Minute))
}

func TestRequestsCountedByRoute(t *testing.T) {
	counted := &counter{}
	app, _ := webtest.NewApp(t, func(o *web.Options) { o.Requests = counted })
	app.Get("/things/:id", web.Route("/things/:id"), func(c *fiber.Ctx) error {
		if c.Params("id") == "lost" {
			return fault.NotFound("thing", "lost")
		}
		return c.SendString("ok")
	})
	for _, path := range []string{"/things/1", "/things/lost", "/elsewhere/secret"} {
		webtest.Send(t, app, webtest.Case{Path: path})
	}
	webtest.Send(t, app, webtest.Case{Path: "/things/1", Header: map[string]string{"Host": "evil.example"}})
	want := []string{"GET /things/:id 200 true", "GET /things/:id 404 true", "GET  404 true"}
	if diff := cmp.Diff(want, counted.got[:3]); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestDownloadStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		pieces []string
		fails  bool
		want   string
	}{
		"nothing":              {nil, false, ""},
		"one piece":            {[]string{"a,b\r\n"}, false, "a,b\r\n"},
		"several":              {[]string{"a", "", "b", "c"}, false, "abc"},
		"error between pieces": {[]string{"a"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			app, _ := webtest.NewApp(t)
			app.Get("/file", func(c *fiber.Ctx) error {
				left := tc.pieces
				web.Download(c, "text/csv", "x.csv", func() ([]byte, error) {
					switch {
					case len(left) > 0:
						piece := left[0]
						left = left[1:]
						return []byte(piece), nil
					case tc.fails:
						return nil, errors.New("database down")
					}
					return nil, io.EOF
				})
				return nil
			})
			address := webtest.Serve(t, app)
			status, body, err := fetch(t, "http://"+address+"/file")
			if status != 200 || (err != nil) != tc.fails || !tc.fails && body != tc.want {
				t.Errorf("%d, %q, %v", status, body, err)
			}
		})
	}
}

// fetch returns the response to a GET. err is the error of reading the body.
func fetch(t *testing.T, url string) (status int, body string, err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b), err
}
