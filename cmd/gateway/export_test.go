package main

import (
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
