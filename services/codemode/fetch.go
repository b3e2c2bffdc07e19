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

// fetchRequest is what the code asks for, besides the URL.
type fetchRequest struct {
	Method  string      `json:"method"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
	// Redirect is follow, manual or error.
	Redirect string `json:"redirect"`
}

// fetchResponse becomes the code's Response.
type fetchResponse struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Headers    [][2]string `json:"headers"`
	Body       string      `json:"body"`
	Base64     bool        `json:"base64"` // the body is no text
}

// fetchMethods are the methods that code may use; the first three only read.
var fetchMethods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// hopHeaders are the request headers that belong to the connection or to the
// gateway and not to the code.
var hopHeaders = []string{
	"Host", "Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Expect", "Cookie", "Cookie2", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Via", "Accept-Encoding",
}

// fetchEffect returns what a request does, from its method.
func fetchEffect(arguments []byte) Effect {
	var request fetchRequest
	if json.Unmarshal(arguments, &request) == nil && slices.Contains(fetchMethods[:3], request.Method) {
		return EffectRead
	}
	return EffectWrite
}

// performFetch sends a request of the code, with none of the gateway's
// credentials. The client decides which addresses it may reach.
func (r *run) performFetch(c *openCall) reply {
	if !r.request.AllowFetch || r.runner.options.Fetch == nil {
		return failed("invalid", "fetch is not allowed in this project")
	}
	var wanted fetchRequest
	if err := json.Unmarshal(c.arguments, &wanted); err != nil {
		return failed("invalid", "the request cannot be read")
	}
	target, err := url.Parse(c.name)
	switch {
	case err != nil || target.Hostname() == "":
		return failed("invalid", "fetch needs an absolute URL")
	case target.Scheme != "http" && target.Scheme != "https":
		return failed("invalid", "fetch takes http and https only")
	case target.User != nil:
		return failed("invalid", "fetch takes no user name or password in the URL: use the header Authorization")
	case !slices.Contains(fetchMethods, wanted.Method):
		return failed("invalid", "fetch takes the methods %s", strings.Join(fetchMethods, ", "))
	case len(wanted.Body) > MaxFetchRequest:
		return failed("limit", "the body has %d bytes, more than %d", len(wanted.Body), MaxFetchRequest)
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
		return failed("invalid", "the request cannot be made: %v", err)
	}
	request.Header.Set("User-Agent", "mcpgateway")
	for _, h := range wanted.Headers {
		name := http.CanonicalHeaderKey(h[0])
		if slices.Contains(hopHeaders, name) || strings.HasPrefix(name, "Sec-") {
			return failed("invalid", "fetch cannot set the header %s", sandbox.ClipText(name, 80))
		}
		request.Header.Add(name, h[1])
	}
	response, err := r.runner.options.Fetch.Do(request)
	if err != nil {
		return r.fetchFailed(ctx, c, err)
	}
	defer response.Body.Close()
	if wanted.Redirect == "error" && response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != "" {
		return failed("tool", "the request was redirected")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxFetchBody+1))
	switch {
	case err != nil:
		return r.fetchFailed(ctx, c, err)
	case len(body) > MaxFetchBody:
		return failed("limit", "the answer has more than %d bytes", MaxFetchBody)
	}
	return fetched(response, body)
}

// fetchFailed turns the failure of a request into what the code catches.
func (r *run) fetchFailed(ctx context.Context, c *openCall, err error) reply {
	var blocked *egress.Blocked
	switch {
	case c.ctx.Err() != nil:
		return r.callFailed(c, err)
	case ctx.Err() != nil:
		return failed("timeout", "no answer within %s", FetchTimeout)
	case errors.As(err, &blocked):
		return failed("invalid", "fetch reaches public addresses and the ports 80 and 443 only")
	default:
		// The text of a *url.Error repeats the URL, which the code knows.
		var failure *url.Error
		if errors.As(err, &failure) {
			err = failure.Err
		}
		return failed("tool", "the request failed: %v", err)
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
			return reply{status: sandbox.AnswerJSON, data: data}
		}
		out.Base64 = true // most of it would be escapes
	}
	out.Body = base64.StdEncoding.EncodeToString(body)
	data, _ := sandbox.Encode(out) // strings and numbers always encode
	return reply{status: sandbox.AnswerJSON, data: data}
}
