package pool_test

import (
	"context"
	"net/http"
	"testing"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestHeaderSettingsAreNotRedacted checks that settings in headers, which are
// ordinary words, remain in results.
func TestHeaderSettingsAreNotRedacted(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p := newPool(t)
	to := target(up.Start(t), func(to *upstream.Target) {
		to.Headers = func(context.Context) (http.Header, error) {
			return http.Header{
				"X-Mcp-Tools": {"get_file_contents"}, "X-Github-Api-Version": {"2022-11-28"}, "X-Aws-Region": {"eu-central-1"}, "Accept-Language": {"de-DE,de;q=0.9"},
				"X-Mcp-Api-Key": {"sesame-key"}, "X-Tenant": {"sesame-tenant"}, "X-Short": {"seven77"},
			}, nil
		}
	})
	got := textOf(t, mustCall(t, p, to, echo("get_file_contents 2022-11-28 eu-central-1 de-DE,de;q=0.9 sesame-key sesame-tenant seven77")).Result)
	if want := "get_file_contents 2022-11-28 eu-central-1 de-DE,de;q=0.9 [redacted] [redacted] seven77"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
