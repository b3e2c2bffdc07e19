package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestExportReportsMissingSecrets applies an export to another gateway, which
// reports every secret as missing.
func TestExportReportsMissingSecrets(t *testing.T) {
	from, to := surroundings(t), surroundings(t)
	const declared = `{"projects":{"work":{"mcpServers":{"docs":{"url":"http://127.0.0.1:9/mcp","authType":"bearer","authBearer":"b","headers":{"X-Key":"h"}},
		"crm":{"url":"http://127.0.0.1:9/crm","authType":"oauth","oauth":{"clientId":"i","clientSecret":"s"}}}}}}`
	if code, out, errs := commandLine(t, from, declared, "apply", "-f", "-"); code != 0 || strings.Contains(out, "missing") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	code, file, errs := commandLine(t, from, "", "export")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	code, out, errs := commandLine(t, to, file, "apply", "-f", "-")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, field := range []string{"crm.oauth.clientSecret", "docs.authBearer", "docs.headers.X-Key"} {
		if want := "! projects.work.mcpServers." + field + ": the secret is missing"; !strings.Contains(out, want) {
			t.Errorf("no %q in the output:\n%s", want, out)
		}
	}
}

// TestExportOfAccessIsApplied exports a project with its users, applies it again
// and prunes.
func TestExportOfAccessIsApplied(t *testing.T) {
	environ := surroundings(t)
	must := func(in string, args ...string) string {
		t.Helper()
		code, out, errs := commandLine(t, environ, in, args...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, errs)
		}
		return out
	}
	must("a long password of the tests\n", "admin", "create", "--email", "ann@example.com", "--password-stdin")
	const declared = `{"groups":{"eng":{"members":["ann@example.com"]}},"projects":{"work":{"personalKeys":{"enabled":true},"limits":[{"per":"key","perDay":5}],
		"toolsets":{"reader":{"query":"readonly:true"}},"access":{"groups":{"eng":["reader"]},"people":{"ann@example.com":"project"}}}}}`
	must(declared, "apply", "-f", "-")
	file := must("", "export", "--people")
	for _, part := range []string{`"ann@example.com": "project"`, `"members"`, `"personalKeys"`, `"perDay": 5`, `"readonly:true"`} {
		if !strings.Contains(file, part) {
			t.Errorf("the export lacks %s: %s", part, file)
		}
	}
	if out := must(file, "apply", "-f", "-", "--prune"); !strings.HasSuffix(out, "0 to create, 0 to update, 0 to delete, 3 unchanged: applied\n") {
		t.Errorf("apply of the export: %s", out)
	}
	if again := must("", "export", "--people"); again != file {
		t.Errorf("exported again: %s", again)
	}
	if without := must("", "export"); strings.Contains(without, "ann@") || !strings.Contains(without, `"eng": [`) {
		t.Errorf("export without people: %s", without)
	}
	for in, want := range map[string]string{
		`{"projects":{"work":{"toolsets":{}}}}`:                                 "Toolset reader is in use.",
		`{"projects":{"work":{"access":{"people":{"eve@example.com":["x"]}}}}}`: "projects.work.access.people.eve@example.com: no user has this email address",
	} {
		if code, _, errs := commandLine(t, environ, in, "apply", "-f", "-", "--prune"); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", in, code, errs)
		}
	}
	if again := must("", "export", "--people"); again != file {
		t.Errorf("rejected files changed the export: %s", again)
	}
	if out := must(`{"projects":{"work":{"access":{"groups":{}}}}}`, "apply", "-f", "-", "--prune"); !strings.Contains(out, "- toolset work/reader") || !strings.Contains(out, "access.groups") {
		t.Errorf("apply that frees the toolset: %s", out)
	}
}

// TestExportOfProgramsIsApplied applies an export with a local server to another
// gateway, which takes its settings once a file declares it.
func TestExportOfProgramsIsApplied(t *testing.T) {
	from, to := surroundings(t), surroundings(t)
	const entry = `{"mcpServers":{"notes":{"command":"no-such-program"%s}}}`
	startServing(t, from, "--local", clientFile(t, fmt.Sprintf(entry, `,"denyTools":["x"]`))).stop(t)
	code, file, errs := commandLine(t, from, "", "export")
	if code != 0 || strings.Contains(file, "no-such-program") {
		t.Fatalf("exit %d: %s%s", code, file, errs)
	}
	const want = `projects.local.mcpServers.notes.url: this key is required; if a runner starts this server, start "gateway serve --local FILE" or connect that runner first`
	if code, _, errs := commandLine(t, to, file, "apply", "-f", "-"); code != 1 || !strings.Contains(errs, want) {
		t.Errorf("apply without the server: exit %d: %s", code, errs)
	}
	startServing(t, to, "--local", clientFile(t, fmt.Sprintf(entry, ""))).stop(t)
	if code, out, errs := commandLine(t, to, file, "apply", "-f", "-"); code != 0 || !strings.Contains(out, "~ server  local/notes: denyTools") {
		t.Errorf("apply with the server: exit %d: %s%s", code, out, errs)
	}
	if got := exported(t, to, "local")["notes"]["denyTools"]; fmt.Sprint(got) != "[x]" {
		t.Errorf("denyTools: %v", got)
	}
}
