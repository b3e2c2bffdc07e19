package egress_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestResponsesMatchNetHTTP compares common and unusual responses with
// net/http's parsing of the same bytes.
func TestResponsesMatchNetHTTP(t *testing.T) {
	for name, response := range map[string]string{
		"common":                   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}",
		"lower case":               "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: a\r\ncontent-length: 2\r\n\r\n{}",
		"no reason phrase":         "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
		"empty reason phrase":      "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}",
		"rejection":                "HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Bearer a=\"b\"\r\nContent-Length: 2\r\n\r\n{}",
		"empty body":               "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"no content":               "HTTP/1.1 204 No Content\r\n\r\n",
		"no content with a length": "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
		"not modified":             "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
		"white space":              "HTTP/1.1 200 OK\r\nX:\t a b \t\r\nY:\r\nContent-Length:  2  \r\n\r\n{}",
		"duplicate header":         "HTTP/1.1 200 OK\r\nX: a\r\nx: b\r\nContent-Length: 2\r\n\r\n{}",
		"duplicate length":         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"two lengths":              "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and chunks":        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"chunks":                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"no length":                "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n{}",
		"connection close":         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.0":                 "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"signed length":            "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}",
		"negative length":          "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
		"empty length":             "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n{}",
		"length in words":          "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
		"excessive length":         "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
		"truncated body":           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
		"folded line":              "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
		"folded first line":        "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 2\r\n\r\n{}",
		"space before colon":       "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\n{}",
		"no colon":                 "HTTP/1.1 200 OK\r\nX\r\nContent-Length: 2\r\n\r\n{}",
		"no name":                  "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 2\r\n\r\n{}",
		"control character":        "HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 2\r\n\r\n{}",
		"carriage return":          "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 2\r\n\r\n{}",
		"bare line feeds":          "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
		"one bare line feed":       "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 2\r\n\r\n{}",
		"non-ASCII letter":         "HTTP/1.1 200 OK\r\nX: ü\r\nContent-Length: 2\r\n\r\n{}",
		"invalid status":           "HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n{}",
		"short status":             "HTTP/1.1 20\r\nContent-Length: 2\r\n\r\n{}",
		"long status":              "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
		"early hint":               "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	} {
		for typed, response := range map[string]string{
			"":        response,
			", typed": strings.Replace(response, "Content-Length: 2", "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2", 1),
		} {
			t.Run(name+typed, func(t *testing.T) {
				s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
					if r, _ := read(in); r != nil {
						_, _ = io.WriteString(c, response)
					}
				})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(strings.NewReader(response))
				resp, err := http.ReadResponse(in, req)
				for err == nil && resp.StatusCode < 200 {
					resp, err = http.ReadResponse(in, req)
				}
				want := seen(t, resp, err)
				resp, err = local(t).MCP().Do(req)
				if got := seen(t, resp, err); !reflect.DeepEqual(got, want) {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			})
		}
	}
}

// observed contains the observable parts of a response.
type observed struct {
	Failed  bool
	Status  string
	Code    int
	Header  http.Header
	Length  int64
	Body    string
	CutBody bool
}

func seen(t *testing.T, resp *http.Response, err error) observed {
	t.Helper()
	if err != nil {
		return observed{Failed: true}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read body: %v", err)
	}
	return observed{false, resp.Status, resp.StatusCode, resp.Header, resp.ContentLength, string(body), err != nil}
}
