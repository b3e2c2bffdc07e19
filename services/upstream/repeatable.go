package upstream

import (
	"net/http"
	"strings"
)

const headerRepeatable = "X-Idempotency-Key"

// markRepeatable lets the HTTP client repeat a request that only reads when
// its connection breaks before the answer begins. The header has no value and
// is not sent (net/http, Transport).
func markRepeatable(h http.Header, method string) {
	switch method {
	case "server/discover", "ping", "resources/read", "prompts/get", "completion/complete":
	default:
		if !strings.HasSuffix(method, "/list") {
			return
		}
	}
	if _, configured := h[headerRepeatable]; !configured {
		h[headerRepeatable] = nil
	}
}
