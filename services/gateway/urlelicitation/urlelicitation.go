// Package urlelicitation converts the URLs that upstream servers ask users to
// open, so that no client loses one: between the error of MCP 2025-11-25, the
// input request of MCP 2026-07-28, and text.
package urlelicitation

import (
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
)

// VersionErrors is the only protocol version whose errors can have URLs to open.
const VersionErrors = "2025-11-25"

// Method is the method of requests to open a URL.
const Method = "elicitation/create"

// Elicitation is a URL that the user must open.
type Elicitation struct {
	ID      string // empty since 2026-07-28
	URL     string
	Message string
}

// Opens reports whether a client opens URLs for its user: its protocol version
// has URL elicitations, and it declared them in the raw capabilities.
func Opens(version string, capabilities []byte) bool {
	if version < VersionErrors || len(capabilities) == 0 {
		return false
	}
	declared, err := rawjson.ParseObject(capabilities, rawjson.Lenient)
	return err == nil && rawjson.Kind(declared.Object("elicitation").Get("url")) == '{'
}

// OfError returns the elicitations and the message of a raw JSON-RPC error with
// code -32042.
func OfError(rpcError []byte) (all []Elicitation, message string) {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil {
		return nil, ""
	}
	message, _ = o.String("message")
	elements, err := rawjson.Elements(o.Object("data").Get("elicitations"), rawjson.Lenient)
	if err != nil {
		return nil, message
	}
	for _, raw := range elements {
		if e, ok := parse(raw); ok {
			all = append(all, e)
		}
	}
	return all, message
}

// OfInput returns the elicitations among the requests of an input_required
// result, in their order.
func OfInput(wanted *rawjson.Object) (all []Elicitation) {
	requests := wanted.Object("inputRequests")
	for _, name := range requests.Names() {
		request := requests.Object(name)
		if method, _ := request.String("method"); method != Method {
			continue
		}
		if e, ok := parse(request.Get("params")); ok {
			all = append(all, e)
		}
	}
	return all
}

// parse returns an elicitation, if the raw params have the mode url.
func parse(params []byte) (e Elicitation, ok bool) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return e, false
	}
	if mode, _ := o.String("mode"); mode != "url" {
		return e, false
	}
	e.ID, _ = o.String("elicitationId")
	e.Message, _ = o.String("message")
	e.URL, ok = o.String("url")
	return e, ok && e.URL != ""
}

// Lines returns the text of each elicitation for clients that do not open URLs.
// Without elicitations it is the message, or a general one if that is empty.
func Lines(all []Elicitation, message string) []string {
	if len(all) == 0 {
		if message == "" {
			message = "The tool requires you to open a URL first."
		}
		return []string{message}
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = strings.TrimPrefix(e.Message+"\nOpen "+e.URL+" and call again.", "\n")
	}
	return lines
}

// Failure returns the raw result of a failed tool with one text block per line.
func Failure(lines ...string) []byte {
	result := []byte(`{"content":[`)
	for i, line := range lines {
		if i > 0 {
			result = append(result, ',')
		}
		result = append(rawjson.AppendString(append(result, `{"type":"text","text":`...), line), '}')
	}
	return append(result, `],"isError":true}`...)
}

// InputRequired returns the raw result that requires a client of 2026-07-28 to
// open the URLs. state returns the request state for the names of its requests,
// which are the IDs where these are unique.
func InputRequired(all []Elicitation, state func(names []string) (string, error)) ([]byte, error) {
	names := make([]string, 0, len(all))
	used := map[string]bool{}
	result := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, e := range all {
		name := e.ID
		for n := i + 1; name == "" || used[name]; n++ {
			name = "url-" + strconv.Itoa(n)
		}
		used[name] = true
		names = append(names, name)
		if i > 0 {
			result = append(result, ',')
		}
		result = append(rawjson.AppendString(result, name), `:{"method":"`+Method+`","params":{"mode":"url","url":`...)
		result = append(rawjson.AppendString(result, e.URL), `,"message":`...)
		result = append(rawjson.AppendString(result, e.Message), `}}`...)
	}
	sealed, err := state(names)
	if err != nil {
		return nil, err
	}
	result = append(rawjson.AppendString(append(result, `},"requestState":`...), sealed), '}')
	return result, nil
}

// Accepted reports whether the raw inputResponses accept every request.
func Accepted(responses *rawjson.Object, names []string) bool {
	for _, name := range names {
		if action, _ := responses.Object(name).String("action"); action != "accept" {
			return false
		}
	}
	return true
}
