package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/runners/wire"
)

// connectorWorld returns the environment of a database with a project team.
func connectorWorld(t *testing.T) []string {
	t.Helper()
	environ := surroundings(t)
	if code, _, errs := commandLine(t, environ, `{"projects":{"team":{},"other":{}}}`, "apply", "-f", "-"); code != 0 {
		t.Fatal(errs)
	}
	return environ
}

// connectorList is the output of `connectors list --json`.
type connectorList struct {
	Items []struct {
		ID, Name, Prefix      string
		CreatedAt, ExpiresAt  time.Time
		LastSeenAt, RevokedAt *time.Time
	}
	Count int
}

func listConnectors(t *testing.T, environ []string, project string) (l connectorList) {
	t.Helper()
	code, out, errs := commandLine(t, environ, "", "connectors", "list", "--project", project, "--json")
	if err := json.Unmarshal([]byte(out), &l); code != 0 || err != nil || errs != "" {
		t.Fatalf("list: %d %s%s %v", code, out, errs, err)
	}
	return l
}

func TestConnectorsArguments(t *testing.T) {
	environ := connectorWorld(t)
	const make = "create --project team --name laptop "
	for _, tc := range []struct {
		args string
		code int
		err  string // part of standard error; empty if the command succeeds
	}{
		{"", 2, "missing subcommand: create, list or revoke"},
		{"renew", 2, `unknown subcommand "renew": use create, list or revoke`},
		{"create --name laptop", 2, "--project is required"},
		{"create --project team", 2, "--name is required"},
		{"create --project none --name laptop", 1, `There is no project "none".`},
		{make + "extra", 2, `unexpected argument "extra"`},
		{make + "--token gwc_x", 2, "flag provided but not defined: -token"},
		{make + "--expires 90d", 2, `invalid value "90d" for flag -expires`},
		{make + "--expires 90", 2, `invalid value "90" for flag -expires`},
		{make + "--expires never", 2, `invalid value "never" for flag -expires`},
		{make + "--expires -1h", 2, "--expires takes a time of at least 1s, such as 2160h"},
		{make + "--expires 0", 2, "at least 1s"},
		{make + "--expires 999ms", 2, "at least 1s"},
		{make + "--expires 1s", 0, ""},
		{make + "--expires 2562047h", 0, ""}, // the longest duration, 292 years
		{make + "--expires 2562048h", 2, `invalid value "2562048h"`},
		{"create --project team --name " + strings.Repeat("x", 100), 0, ""},
		{"create --project team --name " + strings.Repeat("x", 101), 1, "Use 1 to 100 printable characters."},
		{"list", 2, "--project is required"},
		{"list --project none", 1, `There is no project "none".`},
		{"list --project team more", 2, `unexpected argument "more"`},
		{"revoke --project team", 2, "--id is required"},
		{"revoke --id x", 2, "--project is required"},
		{"revoke --project none --id x", 1, `There is no project "none".`},
		{"revoke --project team --id x", 1, `There is no connector "x".`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			code, out, errs := commandLine(t, environ, "", append([]string{"connectors"}, strings.Fields(tc.args)...)...)
			if code != tc.code || !strings.Contains(errs, tc.err) || (errs == "") != (tc.err == "") || (out == "") != (tc.err != "") {
				t.Errorf("exit code %d, want %d: %s%s", code, tc.code, out, errs)
			}
		})
	}
}

func TestConnectorsCommand(t *testing.T) {
	environ := connectorWorld(t)
	if code, out, _ := commandLine(t, environ, "", "connectors", "list", "--project", "team"); code != 0 || out != "Project team has no connectors. Create one with: gateway connectors create --project team --name NAME\n" {
		t.Errorf("empty list: %d %s", code, out)
	}
	code, token, errs := commandLine(t, environ, "", "connectors", "create", "--project", "team", "--name", "laptop")
	if code != 0 || errs != "" || !regexp.MustCompile(`^gwc_[A-Za-z0-9]+\n$`).MatchString(token) {
		t.Fatalf("create: %d %q %s", code, token, errs)
	}
	if code, _, errs = commandLine(t, environ, "", "connectors", "create", "--project", "team", "--name", "short", "--expires", "90m"); code != 0 {
		t.Fatal(errs)
	}
	l := listConnectors(t, environ, "team")
	if l.Count != 2 || len(l.Items) != 2 || l.Items[0].Name != "short" || l.Items[1].Name != "laptop" || l.Items[1].Prefix != token[:8] || l.Items[1].LastSeenAt != nil {
		t.Fatalf("list: %+v", l)
	}
	for i, want := range []time.Duration{90 * time.Minute, 90 * 24 * time.Hour} {
		if got := l.Items[i].ExpiresAt.Sub(l.Items[i].CreatedAt).Round(time.Second); got != want {
			t.Errorf("lifetime of %s: %v, want %v", l.Items[i].Name, got, want)
		}
	}
	if other := listConnectors(t, environ, "other"); other.Count != 0 {
		t.Errorf("connectors of another project: %+v", other)
	}
	id := l.Items[1].ID
	if code, _, errs := commandLine(t, environ, "", "connectors", "revoke", "--project", "other", "--id", id); code != 1 || !strings.Contains(errs, "There is no connector") {
		t.Errorf("revoke in another project: %d %s", code, errs)
	}
	for range 2 { // again changes nothing
		if code, out, errs := commandLine(t, environ, "", "connectors", "revoke", "--project", "team", "--id", id); code != 0 || out+errs != "" {
			t.Errorf("revoke: %d %s%s", code, out, errs)
		}
	}
	_, table, _ := commandLine(t, environ, "", "connectors", "list", "--project", "team")
	lines := strings.Split(table, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "ID ") || !strings.Contains(lines[1], "short") || strings.Contains(lines[1], "revoked") || !strings.Contains(lines[2], "laptop") || !strings.Contains(lines[2], "revoked") || strings.Contains(table, strings.TrimSpace(token)) {
		t.Errorf("table:\n%s", table)
	}
}

func TestConnectorsOfAProjectLimited(t *testing.T) {
	environ := connectorWorld(t)
	create := func() (int, string) {
		code, _, errs := commandLine(t, environ, "", "connectors", "create", "--project", "team", "--name", "c")
		return code, errs
	}
	for n := 1; n <= wire.MaxConnectors; n++ {
		if code, errs := create(); code != 0 {
			t.Fatalf("connector %d: %s", n, errs)
		}
	}
	if code, errs := create(); code != 1 || !strings.Contains(errs, fmt.Sprintf("has %d connectors, the maximum", wire.MaxConnectors)) {
		t.Errorf("one more: %d %s", code, errs)
	}
	if code, _, errs := commandLine(t, environ, "", "connectors", "revoke", "--project", "team", "--id", listConnectors(t, environ, "team").Items[0].ID); code != 0 {
		t.Fatal(errs)
	}
	if code, errs := create(); code != 0 {
		t.Errorf("after a revocation: %d %s", code, errs)
	}
}
