//go:build conformance

// Package suite runs the official MCP conformance suites against a gateway and
// against the gateway's upstream client, and compares the outcome with what is
// expected.
package suite

// Release is a published release of the suite, by the name that package.json
// gives it.
type Release string

// The releases that are used.
const (
	Release01 Release = "conformance-0.1"
	Release02 Release = "conformance-0.2"
)

// Set is one run of a suite and what it must show.
type Set struct {
	Name    string
	Release Release
	// Project is that of the gateway whose endpoint is tested; without one
	// the upstream client is.
	Project string
	// Arguments choose the scenarios. With Scenarios, each of them runs by
	// itself with these arguments.
	Arguments []string
	Scenarios []string
	Want      Want
}

// role returns what the suite calls what is tested.
func (s *Set) role() string {
	if s.Project == "" {
		return "client"
	}
	return "server"
}

// Want is the least that a set must show. None of what is scored may fail.
type Want struct {
	Scenarios int // scored ones
	Checks    int // that pass in scored scenarios
	Unscored  int // checks that pass in scenarios that are run but not scored
}

// Projects of the gateway, by the upstream that stands behind each.
const (
	stateful  = "stateful"  // the Go SDK's fixture with sessions
	stateless = "stateless" // the same without, revision 2026-07-28
	asking    = "asking"    // tools of revision 2026-07-28 that require input
)

// toolScenarios are the scenarios about tools that both generations of the
// protocol have.
func toolScenarios() []string {
	return []string{
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress",
	}
}

// Sets returns every set. What the first three want is what the fixture shows
// without a gateway before it, less what the gateway does otherwise on
// purpose: it answers with JSON where it has nothing to stream (a check of
// server-sse-multiple-streams), its streams cannot be resumed (a check of
// server-sse-polling, which is not scored), and it does not pass on the
// announcement of a list that did not change (a check of server-stateless;
// another one there depends on how soon an announcement arrives).
//
// In the crosses the suite speaks one generation of the protocol and the
// upstream the other; left out of them is what no gateway could carry over:
// scenarios that know by name the input which an upstream with sessions, whose
// questions have no names, is to ask for.
//
// The sets of the client role are all scenarios that a revision requires. Of
// those that are run but not scored, the extensions of authorization fail:
// client credentials, assertions of an enterprise or a workload, and DPoP are
// other ways of authorization than the one that connections go.
func Sets() []Set {
	crossed := func(name, project, version string, scenarios []string) Set {
		return Set{
			Name: name, Release: Release02, Project: project, Arguments: []string{"--spec-version", version},
			Scenarios: scenarios, Want: Want{Scenarios: len(scenarios), Checks: len(scenarios)},
		}
	}
	required := func(role, revision string) []string { return []string{role, "--requirements", revision} }
	return []Set{
		{
			Name: "server 0.1.16 active", Release: Release01, Project: stateful,
			Arguments: []string{"server", "--suite", "active"}, Want: Want{Scenarios: 30, Checks: 39},
		},
		{
			Name: "server 2025-11-25", Release: Release02, Project: stateful,
			Arguments: required("server", "2025-11-25"), Want: Want{Scenarios: 30, Checks: 69, Unscored: 11},
		},
		{
			Name: "server 2026-07-28", Release: Release02, Project: stateless,
			Arguments: required("server", "2026-07-28"), Want: Want{Scenarios: 37, Checks: 118},
		},
		crossed("cross 2025-11-25 to stateless", stateless, "2025-11-25", toolScenarios()),
		crossed("cross 2025-11-25 to input required", asking, "2025-11-25", []string{
			"tools-call-elicitation", "elicitation-sep1034-defaults", "tools-call-sampling",
		}),
		crossed("cross 2026-07-28 to stateful", stateful, "2026-07-28", append(toolScenarios(),
			"input-required-result-non-tool-request", "input-required-result-result-type", "input-required-result-tampered-state",
			"input-required-result-capability-check", "input-required-result-unsupported-methods",
		)),
		{
			Name: "client 2025-03-26", Release: Release02, Arguments: []string{"--spec-version", "2025-03-26"},
			Scenarios: []string{"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"}, Want: Want{Scenarios: 2, Checks: 10},
		},
		{
			Name: "client 2025-11-25", Release: Release02,
			Arguments: required("client", "2025-11-25"), Want: Want{Scenarios: 18, Checks: 290, Unscored: 9},
		},
		{
			Name: "client 2026-07-28", Release: Release02,
			Arguments: required("client", "2026-07-28"), Want: Want{Scenarios: 32, Checks: 415, Unscored: 9},
		},
	}
}
