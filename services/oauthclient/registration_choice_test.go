package oauthclient_test

import (
	"strings"
	"testing"

	"mcpgateway/services/oauthclient"
)

// TestRegistrationOrder goes through every combination of what can be used:
// a held registration, an eligible document, dynamic registration, a static
// client.
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
			t.Errorf("%+v: got %+v, want %s for %d reasons", o, got, c.want, c.reasons)
		}
	}
	// A document needs both sides, and a reason tells which one is missing.
	for _, c := range []struct {
		taken, eligible bool
		want            oauthclient.Kind
		says            string
	}{
		{true, false, oauthclient.Static, "not eligible: no https"},
		{false, true, oauthclient.Static, "does not take client metadata documents"},
		{true, true, oauthclient.Document, "ours is eligible"},
	} {
		got := oauthclient.Choose(oauthclient.Options{DocumentsTaken: c.taken, DocumentEligible: c.eligible, DocumentWhyNot: "no https", StaticID: true})
		if got.Kind != c.want || !strings.Contains(strings.Join(got.Reasons, "\n"), c.says) {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}
