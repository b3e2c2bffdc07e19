package outbound

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/models"
)

// MaxForwarded is the maximum number of forwarded headers of a server.
const MaxForwarded = 16

// neverForwarded are headers that are neither taken from clients nor set by
// forwarding: credentials of the gateway, headers of a connection, of a body, of a
// browser, and of tracing. The second list has prefixes.
var (
	neverForwarded = []string{
		"Authorization", "Baggage", "B3", "Connection", "Cookie", "Cookie2", "Expect", "Gateway-Hops", "Host", "Http2-Settings", "Keep-Alive", "Last-Event-Id",
		"Origin", "Referer", "Sentry-Trace", "Set-Cookie", "Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Uber-Trace-Id", "Upgrade",
		"Via", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "X-Csrf-Token", "X-Request-Id",
	}
	neverForwardedPrefixes = []string{"Accept", "Content-", "Mcp-", "Proxy-", "Sec-", "X-B3-"}
)

// isNeverForwarded reports whether a canonical header name is excluded.
func isNeverForwarded(name string) bool {
	return slices.Contains(neverForwarded, name) || strings.Contains(strings.ToLower(name), "forwarded") ||
		slices.ContainsFunc(neverForwardedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Forwarded returns declared headers in their stored form: the canonical name of the
// client's header to that of the server's. It returns the problems by field. An
// empty target means the same name.
func Forwarded(declared map[string]string) (stored models.StringMap, problems map[string]string) {
	stored, problems = models.StringMap{}, map[string]string{}
	if len(declared) > MaxForwarded {
		problems["forwardHeaders"] = fmt.Sprintf("use at most %d headers", MaxForwarded)
		return nil, problems
	}
	targets := map[string]string{}
	for _, given := range slices.Sorted(maps.Keys(declared)) {
		field := "forwardHeaders." + given
		source, target := http.CanonicalHeaderKey(given), http.CanonicalHeaderKey(declared[given])
		if target == "" {
			target = source
		}
		switch {
		case !httpguts.ValidHeaderFieldName(given) || !httpguts.ValidHeaderFieldName(target):
			problems[field] = "not a valid header name"
		case isNeverForwarded(source):
			problems[field] = "the header " + source + " of clients is never forwarded"
		case target != "Authorization" && isNeverForwarded(target):
			problems[field] = "the header " + target + " can't be set by forwarding"
		case stored[source] != "":
			problems[field] = "header names are case-insensitive: this one exists already"
		case targets[target] != "":
			problems[field] = "the header " + targets[target] + " is forwarded as " + target + " already"
		default:
			stored[source], targets[target] = target, source
		}
	}
	return stored, problems
}

// CheckForwarded returns the problems of a server's forwarded headers with its other
// credentials.
func CheckForwarded(row *models.Server) map[string]string {
	problems := map[string]string{}
	for source, target := range row.ForwardHeaders {
		_, configured := row.Headers[target]
		switch {
		case target == "Authorization" && row.AuthType != models.UpstreamAuthNone:
			problems["forwardHeaders."+source] = "Authorization requires authType none"
		case configured || slices.Contains(row.PersonalHeaders, target):
			problems["forwardHeaders."+source] = "the server's headers have " + target + " already"
		}
	}
	return problems
}
