package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"mcpgateway/services/rawjson"
)

// userAgent identifies the doctor's requests in the log.
const userAgent = "gateway-doctor"

// response is a response that was read completely.
type response struct {
	status int
	header http.Header
	body   []byte
}

// request is a request to the gateway.
type request struct {
	method, url string
	header      map[string]string
	body        string
}

// send sends a request and reads its response, up to maxBody.
func (r *run) send(ctx context.Context, in request) (*response, error) {
	resp, err := r.open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, errors.New("the response is too large")
	}
	return &response{resp.StatusCode, resp.Header, body}, nil
}

// open sends a request. The caller must close the body of the response.
func (r *run) open(ctx context.Context, in request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, in.method, in.url, strings.NewReader(in.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	if r.mark != "" {
		req.Header.Set(Header, r.mark)
	}
	if in.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range in.header {
		req.Header.Set(name, value)
	}
	return r.Client.Do(req)
}

// rpc sends a JSON-RPC request to the endpoint with the credential and the session
// of the run, if it has them.
func (r *run) rpc(ctx context.Context, body string) (*response, error) {
	header := map[string]string{"Accept": "application/json, text/event-stream"}
	if r.bearer != "" {
		header["Authorization"] = "Bearer " + r.bearer
	}
	if r.session != "" {
		header[headerSession] = r.session
	}
	return r.send(ctx, request{http.MethodPost, r.base + "/request", header, body})
}

const headerSession = "Mcp-Session-Id"

// isRedirect reports whether a response is a redirect.
func (a *response) isRedirect() bool { return a.status >= 300 && a.status < 400 }

// message returns the message of an error response of the gateway, or "".
func (a *response) message() string {
	o, err := rawjson.ParseObject(a.body, rawjson.Lenient)
	if err != nil {
		return ""
	}
	if problem, err := rawjson.ParseObject(o.Get("error"), rawjson.Lenient); err == nil {
		o = problem
	}
	text, _ := o.String("message")
	if text == "" {
		text, _ = o.String("error_description")
	}
	return clip(text)
}

// clip returns the first 200 bytes of a text from the network, without control
// characters.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > maxValue {
		s = strings.ToValidUTF8(s[:maxValue], "") + "…"
	}
	return s
}
