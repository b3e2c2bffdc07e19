package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const twoRows = `{"version":1,"items":[
 {"publisherName":"acme","serverName":"tool","serverTitle":"Tool","serverType":"stdio","authType":"none"},
 {"slug":"mine","title":"Mine","difficulty":"beginner","createdAt":"2026-01-01T00:00:00Z"}]}`

func TestCatalogImport(t *testing.T) {
	environ := surroundings(t)
	file := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(file, []byte(twoRows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		in   string
		args []string
		out  []string
	}{
		{"dry run", "", []string{"--file", file, "--dry-run"}, []string{"+ server   acme/tool\n", "+ template mine\n", "2 to add", "nothing was changed (dry run)"}},
		{"import", "", []string{"--file", file}, []string{"2 to add", "imported"}},
		{"again", twoRows, []string{"--file", "-"}, []string{"2 read: 0 to add, 0 to update, 0 to delete, 2 unchanged"}},
		{"changed", strings.ReplaceAll(twoRows, `"Tool"`, `"The Tool"`), []string{"--file", "-"}, []string{"~ server   acme/tool\n    serverTitle: Tool → The Tool\n", "1 to update"}},
		{"deleted", strings.ReplaceAll(twoRows, `"stdio"`, `"stdio","status":"deleted"`), []string{"--file", "-"}, []string{"- server   acme/tool\n", "1 to delete"}},
		{"taken", strings.ReplaceAll(strings.ReplaceAll(twoRows, "acme", "stripe"), "tool", "stripe"), []string{"--file", "-"}, []string{"= server   stripe/stripe: skipped, because another source has this name"}},
	} {
		code, out, errs := commandLine(t, environ, step.in, append([]string{"catalog", "import"}, step.args...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", step.name, code, errs)
		}
		for _, want := range step.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in the output:\n%s", step.name, want, out)
			}
		}
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"catalog"}, 2, "import"},
		{[]string{"catalog", "export"}, 2, "import"},
		{[]string{"catalog", "import"}, 2, "--file or --from"},
		{[]string{"catalog", "import", "--file", "a", "--from", "b"}, 2, "mutually exclusive"},
		{[]string{"catalog", "import", "--file", "a", "--approve-removals", "3"}, 2, "--approve-removals requires --from"},
		{[]string{"catalog", "import", "--from", "https://example.com/", "--approve-removals", "-1"}, 2, "positive"},
		{[]string{"catalog", "import", "--file", filepath.Join(t.TempDir(), "none")}, 1, "no such file"},
		{[]string{"catalog", "import", "--from", "http://169.254.169.254/"}, 1, "url"},
	} {
		code, _, errs := commandLine(t, environ, "", tc.args...)
		if code != tc.code || !strings.Contains(errs, tc.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", tc.args, code, errs)
		}
	}
	if code, _, errs := commandLine(t, environ, "\ufeff"+twoRows, "catalog", "import", "--dry-run", "--file", "-"); code != 0 {
		t.Errorf("file with a byte-order mark: exit %d: %s", code, errs)
	}
	if code, _, errs := commandLine(t, environ, `{"version":1,"item":[]}`, "catalog", "import", "--file", "-"); code != 1 || !strings.Contains(errs, "items") {
		t.Errorf("file without rows: exit %d: %s", code, errs)
	}
	if code, _, errs := commandLine(t, environ, `{"version":1,"items":[{}]}`, "catalog", "import", "--file", "-"); code != 1 || !strings.Contains(errs, "items[0]") {
		t.Errorf("invalid file: exit %d: %s", code, errs)
	}
}

func TestCatalogImportHoldsRemovals(t *testing.T) {
	environ := surroundings(t)
	var rows atomic.Int64
	rows.Store(10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var items []string
		for i := range rows.Load() {
			items = append(items, fmt.Sprintf(`{"publisherName":"acme","serverName":"s%d","serverType":"stdio"}`, i))
		}
		fmt.Fprintf(w, `{"version":1,"items":[%s]}`, strings.Join(items, ","))
	}))
	t.Cleanup(server.Close)
	for _, step := range []struct {
		rows      int64
		args      []string
		code      int
		out, errs string
	}{
		{10, nil, 0, "10 to add", ""},
		{7, []string{"--dry-run"}, 0, "needs --approve-removals 3", ""},
		{7, nil, 1, "3 to delete", "would remove 3 of 10 rows, more than 20 %: nothing was changed; to apply it, add --approve-removals 3"},
		{7, []string{"--approve-removals", "2"}, 1, "nothing was changed", "add --approve-removals 3"},
		{7, []string{"--approve-removals", "3"}, 0, "3 to delete", ""},
	} {
		rows.Store(step.rows)
		args := append([]string{"catalog", "import", "--from", server.URL + "/catalog.json"}, step.args...)
		code, out, errs := commandLine(t, environ, "", args...)
		if code != step.code || !strings.Contains(out, step.out) || !strings.Contains(errs, step.errs) {
			t.Errorf("%v: exit %d: %s%s", step.args, code, out, errs)
		}
	}
}
