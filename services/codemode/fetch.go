package codemode

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/egress"
	"mcpgateway/services/sandbox"
)

// fetchRequest is a request of the code, without its URL.
type fetchRequest struct {
	Method  string      `json:"method"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
	// Redirect is follow, manual or error.
	Redirect string `json:"redirect"`
}

// fetchResponse becomes the Response object of the code.
type fetchResponse struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Headers    [][2]string `json:"headers"`
	Body       string      `json:"body"`
	Base64     bool        `json:"base64"` // the body is not UTF-8 text
}

// fetchMethods are the methods that code may use. The first three only read.
var fetchMethods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// hopHeaders are the request headers that the code can't set: those of the
// connection and of the gateway.
var hopHeaders = []string{
	"Host", "Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Expect", "Cookie", "Cookie2", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Via", "Accept-Encoding",
}

// fetchEffect returns the effect of a request, from its method.
func fetchEffect(arguments []byte) Effect {
	var request fetchRequest
	if json.Unmarshal(arguments, &request) == nil && slices.Contains(fetchMethods[:3], request.Method) {
		return EffectRead
	}
	return EffectWrite
}

// performFetch sends a request of the code without any credentials of the
// gateway. The client restricts which addresses it can reach.
func (r *run) performFetch(c *openCall) reply {
	if !r.request.AllowFetch || r.runner.options.Fetch == nil {
		return failed("invalid", "fetch is not allowed in this project. An administrator can allow it.")
	}
	var wanted fetchRequest
	if err := json.Unmarshal(c.arguments, &wanted); err != nil {
		return failed("invalid", "The fetch request is invalid.")
	}
	target, err := url.Parse(c.name)
	switch {
	case err != nil || target.Hostname() == "":
		return failed("invalid", "fetch requires an absolute URL.")
	case target.Scheme != "http" && target.Scheme != "https":
		return failed("invalid", "fetch supports only http and https URLs.")
	case target.User != nil:
		return failed("invalid", "fetch doesn't support a user name or password in the URL. Use the Authorization header.")
	case !slices.Contains(fetchMethods, wanted.Method):
		return failed("invalid", "fetch supports only these methods: %s.", strings.Join(fetchMethods, ", "))
	case len(wanted.Body) > MaxFetchRequest:
		return failed("limit", "The request body has %d bytes; the maximum is %d.", len(wanted.Body), MaxFetchRequest)
	}
	if r.request.DryRun && c.effect != EffectRead {
		return r.record(c)
	}
	ctx, cancel := context.WithTimeout(c.ctx, FetchTimeout)
	defer cancel()
	if wanted.Redirect != "follow" {
		ctx = egress.WithoutRedirects(ctx)
	}
	request, err := http.NewRequestWithContext(ctx, wanted.Method, target.String(), strings.NewReader(wanted.Body))
	if err != nil {
		return failed("invalid", "The fetch request is invalid: %v.", err)
	}
	request.Header.Set("User-Agent", "mcpgateway")
	for _, h := range wanted.Headers {
		name := http.CanonicalHeaderKey(h[0])
		if slices.Contains(hopHeaders, name) || strings.HasPrefix(name, "Sec-") {
			return failed("invalid", "fetch can't set the header %s.", sandbox.ClipText(name, 80))
		}
		request.Header.Add(name, h[1])
	}
	response, err := r.runner.options.Fetch.Do(request)
	if err != nil {
		return r.fetchFailed(ctx, c, err)
	}
	defer response.Body.Close()
	if wanted.Redirect == "error" && response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != "" {
		return failed("tool", "The request was redirected.")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxFetchBody+1))
	switch {
	case err != nil:
		return r.fetchFailed(ctx, c, err)
	case len(body) > MaxFetchBody:
		return failed("limit", "The response has more than %d bytes. Request less data.", MaxFetchBody)
	}
	return fetched(response, body)
}

// fetchFailed returns the failure that the code catches for the error of a
// request.
func (r *run) fetchFailed(ctx context.Context, c *openCall, err error) reply {
	var blocked *egress.Blocked
	switch {
	case c.ctx.Err() != nil:
		return r.callFailed(c, err)
	case ctx.Err() != nil:
		return failed("timeout", "No response within %s.", FetchTimeout)
	case errors.As(err, &blocked):
		return failed("invalid", "fetch can reach only public addresses on ports 80 and 443.")
	default:
		// The text of a *url.Error repeats the URL.
		var failure *url.Error
		if errors.As(err, &failure) {
			err = failure.Err
		}
		return failed("tool", "The request failed: %v.", err)
	}
}

func fetched(response *http.Response, body []byte) reply {
	out := fetchResponse{
		Status: response.StatusCode, StatusText: http.StatusText(response.StatusCode), URL: response.Request.URL.String(),
		Redirected: response.Request.Response != nil, Headers: [][2]string{},
	}
	for name, values := range response.Header {
		if name != "Set-Cookie" {
			out.Headers = append(out.Headers, [2]string{strings.ToLower(name), strings.Join(values, ", ")})
		}
	}
	slices.SortFunc(out.Headers, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	if out.Base64 = !utf8.Valid(body); !out.Base64 {
		out.Body = string(body)
		if data, _ := sandbox.Encode(out); len(data) <= sandbox.MaxFrame/2 {
			return reply{status: sandbox.ReplyJSON, data: data}
		}
		out.Base64 = true // as text it would be mostly escapes
	}
	out.Body = base64.StdEncoding.EncodeToString(body)
	data, _ := sandbox.Encode(out) // strings and numbers always marshal
	return reply{status: sandbox.ReplyJSON, data: data}
}
