//go:build conformance

// Package suite runs the official MCP conformance suites against a gateway and its
// upstream client, and checks the results against minimum expectations.
package suite

import "slices"

// Release is a published release of the suite, by its name in package.json.
type Release string

// Releases of the suite.
const (
	Release01 Release = "conformance-0.1"
	Release02 Release = "conformance-0.2"
)

// Set is one run of a suite with its expected results.
type Set struct {
	Name    string
	Release Release
	// Project is the gateway's project under test. If empty, the upstream client is
	// tested.
	Project string
	// Arguments select the scenarios. If Scenarios is set, each scenario runs
	// separately with these arguments.
	Arguments []string
	Scenarios []string
	AtOnce    bool // Scenarios run concurrently, because they mostly wait
	Want      Want
}

// role returns the suite's name for the role under test.
func (s *Set) role() string {
	if s.Project == "" {
		return "client"
	}
	return "server"
}

// Want is the minimum result of a set. No scored check may fail.
type Want struct {
	Scenarios int // scored scenarios
	Checks    int // passed checks of scored scenarios
	Unscored  int // passed checks of unscored scenarios
}

// Projects of the gateway. Each has one upstream.
const (
	stateful  = "stateful"  // the Go SDK's fixture with sessions
	stateless = "stateless" // the Go SDK's fixture without sessions, revision 2026-07-28
	asking    = "asking"    // tools of revision 2026-07-28 that require input
	tasks     = "tasks"     // the tasks extension
	skills    = "skills"    // SDK 2.x with its skills extension
)

// toolScenarios returns the tool scenarios of both protocol generations.
func toolScenarios() []string {
	return []string{
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress",
	}
}

// taskScenarios returns the scenarios of the tasks extension. The suite skips the
// checks of tasks-status-notifications.
func taskScenarios() []string {
	return []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition", "tasks-status-notifications",
	}
}

// Sets returns all sets.
//
// The expectations of sets for servers are the results of the upstream without a
// gateway, except that the gateway responds with JSON if it has nothing to stream (a
// check of server-sse-multiple-streams, which the suite then doesn't apply).
//
// In the cross sets, the suite uses one protocol generation and the upstream the
// other. They omit scenarios that no gateway can bridge: those that expect named
// input requests from an upstream with sessions, whose requests have no names.
//
// The client sets contain all scenarios that a revision requires. Of the unscored
// scenarios, those of authorization extensions fail: client credentials,
// enterprise and workload assertions, and DPoP. Connections support none of them.
func Sets() []Set {
	crossed := func(name, project, version string, scenarios []string) Set {
		return Set{
			Name: name, Release: Release02, Project: project, Arguments: []string{"--spec-version", version},
			Scenarios: scenarios, Want: Want{Scenarios: len(scenarios), Checks: len(scenarios)},
		}
	}
	required := func(role, revision string) []string { return []string{role, "--requirements", revision} }
	requirements := []Set{
		{
			Name: "server 2025-11-25", Release: Release02, Project: stateful,
			Arguments: required("server", "2025-11-25"), Want: Want{Scenarios: 30, Checks: 69, Unscored: 13},
		},
		{
			Name: "server 2026-07-28", Release: Release02, Project: stateless,
			Arguments: required("server", "2026-07-28"), Want: Want{Scenarios: 37, Checks: 120},
		},
	}
	return slices.Concat(requirements, []Set{
		{
			Name: "server 0.1.16 active", Release: Release01, Project: stateful,
			Arguments: []string{"server", "--suite", "active"}, Want: Want{Scenarios: 30, Checks: 39},
		},
		{
			Name: "server all 2025-06-18", Release: Release02, Project: stateful,
			Arguments: []string{"server", "--suite", "all", "--spec-version", "2025-06-18"}, Want: Want{Scenarios: 27, Checks: 56},
		},
		{
			Name: "server all 2025-11-25", Release: Release02, Project: stateful,
			Arguments: []string{"server", "--suite", "all", "--spec-version", "2025-11-25"}, Want: Want{Scenarios: 33, Checks: 82},
		},
		{
			Name: "server streams", Release: Release02, Project: stateful, Arguments: []string{"--spec-version", "2025-11-25"},
			Scenarios: []string{"server-sse-polling", "server-sse-multiple-streams"}, Want: Want{Scenarios: 2, Checks: 3},
		},
		{
			Name: "server skills", Release: Release02, Project: skills, AtOnce: true,
			Scenarios: []string{"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"},
			Want:      Want{Scenarios: 3, Checks: 32 + 6 + 7},
		},
		{
			Name: "server tasks", Release: Release02, Project: tasks, AtOnce: true,
			Scenarios: taskScenarios(), Want: Want{Scenarios: len(taskScenarios()) - 1, Checks: 44},
		},
		crossed("cross 2025-11-25 to stateless", stateless, "2025-11-25", toolScenarios()),
		crossed("cross 2025-11-25 to input required", asking, "2025-11-25", []string{
			"tools-call-elicitation", "elicitation-sep1034-defaults", "tools-call-sampling",
		}),
		crossed("cross 2026-07-28 to stateful", stateful, "2026-07-28", append(toolScenarios(),
			"input-required-result-non-tool-request", "input-required-result-result-type", "input-required-result-tampered-state",
			"input-required-result-capability-check", "input-required-result-unsupported-methods",
		)),
	}, again(requirements), []Set{
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
	})
}

// again returns the sets for a gateway that has served other sets before.
func again(sets []Set) []Set {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Name += " again"
	}
	return sets
}
