package health_test

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/upstreamtest"
)

// openTools are the tools of the servers in tests, with their public facts.
func openTools() ([]upstreamtest.Tool, models.CheckedTools) {
	tools := []upstreamtest.Tool{
		tool("find", `,"annotations":{"readOnlyHint":true}`, `{"query":{},"limit":{}}`),
		tool("send", `,"annotations":{"readOnlyHint":false}`, `{}`),
		tool("other", "", `{"a":{"properties":{"inner":{}}}}`),
	}
	tokens := func(i int) int { return (len(tools[i].Definition) + 3) / 4 }
	return tools, models.CheckedTools{
		{Name: "find", ReadOnly: new(true), Parameters: []string{"query", "limit"}, Tokens: tokens(0)},
		{Name: "send", ReadOnly: new(false), Tokens: tokens(1)},
		{Name: "other", Parameters: []string{"a"}, Tokens: tokens(2)},
	}
}

// unused returns an address where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return "http://" + listener.Addr().String() + "/mcp"
}

func TestProbe(t *testing.T) {
	tools, want := openTools()
	of := func(eras ...upstreamtest.Era) upstreamtest.Options {
		return upstreamtest.Options{Eras: eras, Tools: tools}
	}
	locked := of(upstreamtest.Era20251125)
	locked.Token = "secret"
	for _, tt := range []struct {
		name     string
		options  upstreamtest.Options
		faults   []upstreamtest.Fault
		address  string // "" starts a server
		sse      bool
		state    models.CheckState
		revision string
		message  string // part of it
		tools    models.CheckedTools
	}{
		{name: "stateless", options: of(upstreamtest.Era20260728), state: models.CheckReachable, revision: "2026-07-28", tools: want},
		{name: "handshake", options: of(upstreamtest.Era20251125), state: models.CheckReachable, revision: "2025-11-25", tools: want},
		{name: "first revision over HTTP", options: of(upstreamtest.Era20250326), state: models.CheckReachable, revision: "2025-03-26", tools: want},
		{name: "HTTP+SSE", options: of(upstreamtest.Era20241105), sse: true, state: models.CheckReachable, revision: "2024-11-05", tools: want},
		{name: "pages", options: upstreamtest.Options{Tools: tools, PageSize: 1}, state: models.CheckReachable, revision: "2026-07-28", tools: want},
		{name: "401", options: locked, state: models.CheckSignIn},
		{name: "401 without a challenge", faults: []upstreamtest.Fault{{Kind: upstreamtest.Status, Status: 401}}, state: models.CheckSignIn},
		{
			name: "401 for the tools", options: of(upstreamtest.Era20251125), faults: []upstreamtest.Fault{{On: upstreamtest.OnList, Kind: upstreamtest.Status, Status: 401}},
			state: models.CheckSignIn, revision: "2025-11-25",
		},
		{
			name: "error for the tools", options: of(upstreamtest.Era20251125), faults: []upstreamtest.Fault{{On: upstreamtest.OnList, Kind: upstreamtest.JSONRPCError, Error: &upstreamtest.RPCError{Code: -32000, Message: "Sign in first"}}},
			state: models.CheckReachable, revision: "2025-11-25", message: "Sign in first",
		},
		{name: "403", faults: []upstreamtest.Fault{{Kind: upstreamtest.Status, Status: 403}}, state: models.CheckFailed, message: "HTTP 403"},
		{name: "500", faults: []upstreamtest.Fault{{Kind: upstreamtest.Status, Status: 500}}, state: models.CheckFailed, message: "HTTP 500"},
		{name: "web page", faults: []upstreamtest.Fault{{Kind: upstreamtest.HTML}}, state: models.CheckFailed, message: "text/html"},
		{name: "broken JSON", faults: []upstreamtest.Fault{{Kind: upstreamtest.InvalidJSON}}, state: models.CheckFailed, message: "invalid JSON"},
		{name: "endless stream", faults: []upstreamtest.Fault{{Kind: upstreamtest.EndlessSSE}}, state: models.CheckFailed, message: "did not respond within"},
		{name: "closed connection", faults: []upstreamtest.Fault{{Kind: upstreamtest.Disconnect}}, state: models.CheckFailed, message: "cannot be reached"},
		{name: "slow", faults: []upstreamtest.Fault{{Kind: upstreamtest.Hang}}, state: models.CheckFailed, message: "did not respond within"},
		{name: "unreachable", address: unused(t), state: models.CheckFailed, message: "cannot be reached"},
		{name: "metadata address", address: "http://169.254.169.254/mcp", state: models.CheckFailed, message: "cannot be reached"},
		{name: "unknown host", address: "http://server.invalid/mcp", state: models.CheckFailed, message: "cannot be reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := onSQLite(t)
			var server *upstreamtest.Server
			address := tt.address
			if address == "" {
				server, address = mock(t, tt.options, tt.faults...)
			}
			w.add(t, "row", address, func(e *models.CatalogEntry) {
				if tt.sse {
					e.ServerType = "sse"
				}
			})
			got := w.check(t, "row")
			if got.State != tt.state || got.Revision != tt.revision || !strings.Contains(got.Message, tt.message) || (tt.message == "") != (got.Message == "") || !got.CheckedAt.Equal(w.Now()) {
				t.Errorf("the check is %+v", got)
			}
			if diff := gocmp.Diff(tt.tools, got.Tools); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if (got.FailingSince != nil) != (tt.state == models.CheckFailed) {
				t.Errorf("failing since %v", got.FailingSince)
			}
			if kept, ok := w.catalog.Check("row"); !ok || gocmp.Diff(got, kept) != "" {
				t.Errorf("the catalog has another check: %s", gocmp.Diff(got, kept))
			}
			if server == nil {
				return
			}
			for _, r := range server.Requests() {
				if r.Header.Get("Authorization")+r.Header.Get("Cookie") != "" {
					t.Errorf("%s has the header %v", r.Method, r.Header)
				}
			}
		})
	}
}

// TestToolsOfCredentialsAreNotPublished checks a server whose tools a project
// has synced with credentials.
func TestToolsOfCredentialsAreNotPublished(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tools, _ := openTools()
		_, address := mock(t, upstreamtest.Options{Tools: tools, Token: "secret"})
		for _, row := range []any{
			&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull},
			&models.Server{ID: "s", ProjectID: "p", Alias: "a", AliasFold: "a", URL: address, Transport: models.TransportAuto, AuthType: models.UpstreamAuthBearer, TimeoutMS: 1000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow},
			&models.Tool{ServerID: "s", Name: "find", Definition: tools[0].Definition},
		} {
			if err := w.db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		w.add(t, "row", address)
		if check := w.check(t, "row"); check.State != models.CheckSignIn || len(check.Tools) != 0 {
			t.Errorf("the check is %+v", check)
		}
		if e, err := w.catalog.Entry("row"); err != nil || len(e.ToolNames) != 0 {
			t.Errorf("the row is %+v, %v", e, err)
		}
	})
}

func TestToolLimits(t *testing.T) {
	parameters := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"p%d":{}`, i))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	plain := func(n int) (tools []upstreamtest.Tool) {
		for i := range n {
			tools = append(tools, tool(fmt.Sprintf("t%d", i), "", "{}"))
		}
		return tools
	}
	for _, tt := range []struct {
		name              string
		tools             []upstreamtest.Tool
		count, parameters int // parameters of the first tool
	}{
		{"499 tools", plain(499), 499, 0},
		{"500 tools", plain(500), 500, 0},
		{"501 tools", plain(501), 500, 0},
		{"49 parameters", []upstreamtest.Tool{tool("a", "", parameters(49))}, 1, 49},
		{"50 parameters", []upstreamtest.Tool{tool("a", "", parameters(50))}, 1, 50},
		{"51 parameters", []upstreamtest.Tool{tool("a", "", parameters(51))}, 1, 50},
		{"name of 127 characters", []upstreamtest.Tool{tool(strings.Repeat("a", 127), "", "{}")}, 1, 0},
		{"name of 128 characters", []upstreamtest.Tool{tool(strings.Repeat("a", 128), "", "{}")}, 1, 0},
		{"name of 129 characters", []upstreamtest.Tool{tool(strings.Repeat("a", 129), "", "{}")}, 0, 0},
		{"name with hidden text", []upstreamtest.Tool{tool("a\u202eb", "", `{}`), tool("b", "", `{"x\u200by":{},"y":{}}`)}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := onSQLite(t)
			_, address := mock(t, upstreamtest.Options{Tools: tt.tools})
			w.add(t, "row", address)
			check := w.check(t, "row")
			if len(check.Tools) != tt.count || tt.count > 0 && len(check.Tools[0].Parameters) != tt.parameters {
				t.Errorf("%d tools: %+v", len(check.Tools), check.Tools[:min(1, len(check.Tools))])
			}
		})
	}
	t.Run("names of all", func(t *testing.T) {
		w := onSQLite(t)
		var tools []upstreamtest.Tool
		for i := range 500 {
			var list []string
			for j := range 50 {
				list = append(list, fmt.Sprintf(`"%0120d":{}`, j))
			}
			tools = append(tools, tool(fmt.Sprintf("t%d", i), "", "{"+strings.Join(list, ",")+"}"))
		}
		_, address := mock(t, upstreamtest.Options{Tools: tools})
		w.add(t, "row", address)
		size := 0
		check := w.check(t, "row")
		for _, tool := range check.Tools {
			size += len(tool.Name) + len(strings.Join(tool.Parameters, ""))
		}
		if len(check.Tools) != 500 || size < 60<<10 || size > 64<<10+500*4 {
			t.Errorf("%d tools with %d bytes of names", len(check.Tools), size)
		}
	})
}

func TestCheckErrors(t *testing.T) {
	w := onSQLite(t)
	w.add(t, "program", "", func(e *models.CatalogEntry) { e.ServerType = "stdio" })
	for id, want := range map[string]fault.Code{"missing": fault.CodeNotFound, "program": fault.CodeConflict} {
		if _, err := w.Check(t.Context(), id); !fault.Is(err, want) {
			t.Errorf("Check(%q) = %v, want %s", id, err, want)
		}
	}
}

func TestChecksAtOnce(t *testing.T) {
	w := onSQLite(t)
	server, address := mock(t, upstreamtest.Options{}, upstreamtest.Fault{Kind: upstreamtest.Hang})
	for i := range 5 {
		w.add(t, fmt.Sprint("row", i), address)
	}
	done := make(chan error, 4)
	for i := range 4 {
		go func() {
			_, err := w.Check(t.Context(), fmt.Sprint("row", i))
			done <- err
		}()
	}
	if err := server.Wait(t.Context(), func() bool { return server.Stats().Requests >= 4 }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Check(t.Context(), "row4"); !fault.Is(err, fault.CodeConflict) {
		t.Errorf("the fifth check: %v", err)
	}
	var failed error
	for range 4 {
		failed = cmp.Or(failed, <-done)
	}
	if failed != nil {
		t.Error(failed)
	}
	if _, err := w.Check(t.Context(), "row4"); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
