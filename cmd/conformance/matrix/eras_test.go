//go:build conformance

// Package matrix lets a client of every generation of the protocol use an
// upstream of every revision through a running gateway, and tells which of it
// works.
package matrix

import (
	"strings"

	"mcpgateway/services/upstream/upstreamtest"
)

// plain is the client without any SDK: it posts JSON and reads JSON, without a
// version header, a session or a stream of its own (specification, "JSON-RPC
// endpoint").
const plain = "plain"

// Revisions that mark a turn.
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

// deaf returns why a client can never be asked for input; empty when it can.
func deaf(client string) string {
	switch {
	case client == plain:
		return "a plain client has no stream that it could be asked on"
	case client < revision20250618:
		return "clients of " + client + " know no elicitation"
	}
	return ""
}

// impossible returns why the upstream cannot ask the client for input; empty
// when it can.
func impossible(client string, upstream upstreamtest.Era) string {
	switch why := deaf(client); {
	case why != "":
		return why
	case string(upstream) < revision20250618:
		return "upstreams of " + string(upstream) + " know no elicitation"
	}
	return ""
}

// aliasOf returns the alias of the upstream of a revision.
func aliasOf(e upstreamtest.Era) string { return "u" + strings.ReplaceAll(string(e), "-", "") }
