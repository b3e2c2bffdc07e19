//go:build conformance

// Package matrix tests clients of every protocol generation with upstream servers
// of every revision through a running gateway.
package matrix

import (
	"strings"

	"mcpgateway/services/upstream/upstreamtest"
)

// plain is a client that posts and reads JSON, without a version header, a session
// or a stream (specification, "JSON-RPC endpoint").
const plain = "plain"

// Revisions with different behavior.
const (
	revision20250326 = string(upstreamtest.Era20250326)
	revision20250618 = string(upstreamtest.Era20250618) // the first with elicitation and a version header
	revision20251125 = string(upstreamtest.Era20251125)
	revision20260728 = string(upstreamtest.Era20260728)
)

// clientEras returns the generations of clients.
func clientEras() []string {
	return []string{plain, revision20250326, revision20250618, revision20251125, revision20260728}
}

// noInputReason returns the reason why a client doesn't support elicitation, or "" if it
// does.
func noInputReason(client string) string {
	switch {
	case client == plain:
		return "plain clients have no stream for server requests"
	case client < revision20250618:
		return "clients of " + client + " don't support elicitation"
	}
	return ""
}

// impossible returns the reason why the upstream can't elicit input from the
// client, or "" if it can.
func impossible(client string, upstream upstreamtest.Era) string {
	switch why := noInputReason(client); {
	case why != "":
		return why
	case string(upstream) < revision20250618:
		return "upstreams of " + string(upstream) + " don't support elicitation"
	}
	return ""
}

// aliasOf returns the alias of the revision's upstream.
func aliasOf(e upstreamtest.Era) string { return "u" + strings.ReplaceAll(string(e), "-", "") }
