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

// takesInput reports whether a client can receive requests for input. Plain
// clients have no stream for them.
func takesInput(client string) bool { return client != plain && client >= revision20250618 }

// canElicit reports whether an upstream can request input.
func canElicit(upstream upstreamtest.Era) bool { return string(upstream) >= revision20250618 }

// aliasOf returns the alias of the revision's upstream.
func aliasOf(e upstreamtest.Era) string { return "u" + strings.ReplaceAll(string(e), "-", "") }
