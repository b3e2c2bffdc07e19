package oauthclient_test

import (
	"strings"
	"testing"

	"mcpgateway/services/oauthclient"
)

// TestRegistrationOrder checks every combination of available registrations:
// existing, document, dynamic, static.
func TestRegistrationOrder(t *testing.T) {
	for _, c := range []struct {
		held, document, dynamic, static bool
		want                            oauthclient.Kind
		reasons                         int
	}{
		{false, false, false, false, oauthclient.None, 4},
		{false, false, false, true, oauthclient.Static, 4},
		{false, false, true, false, oauthclient.Dynamic, 3},
		{false, false, true, true, oauthclient.Dynamic, 3},
		{false, true, false, false, oauthclient.Document, 2},
		{false, true, false, true, oauthclient.Document, 2},
		{false, true, true, false, oauthclient.Document, 2},
		{false, true, true, true, oauthclient.Document, 2},
		{true, false, false, false, oauthclient.Held, 1},
		{true, false, false, true, oauthclient.Held, 1},
		{true, false, true, false, oauthclient.Held, 1},
		{true, false, true, true, oauthclient.Held, 1},
		{true, true, false, false, oauthclient.Held, 1},
		{true, true, false, true, oauthclient.Held, 1},
		{true, true, true, false, oauthclient.Held, 1},
		{true, true, true, true, oauthclient.Held, 1},
	} {
		o := oauthclient.Options{Held: c.held, DocumentsTaken: c.document, DocumentEligible: c.document, Registers: c.dynamic, StaticID: c.static}
		if got := oauthclient.Choose(o); got.Kind != c.want || len(got.Reasons) != c.reasons {
			t.Errorf("Choose(%+v) = %+v, want %s with %d reasons", o, got, c.want, c.reasons)
		}
	}
	// A document requires both sides, and a reason names the missing one.
	for _, c := range []struct {
		taken, eligible bool
		want            oauthclient.Kind
		reason          string
	}{
		{true, false, oauthclient.Static, "not eligible: no https"},
		{false, true, oauthclient.Static, "doesn't support client metadata documents"},
		{true, true, oauthclient.Document, "the gateway's is eligible"},
	} {
		got := oauthclient.Choose(oauthclient.Options{DocumentsTaken: c.taken, DocumentEligible: c.eligible, DocumentWhyNot: "no https", StaticID: true})
		if got.Kind != c.want || !strings.Contains(strings.Join(got.Reasons, "\n"), c.reason) {
			t.Errorf("%+v: Choose() = %+v", c, got)
		}
	}
}
