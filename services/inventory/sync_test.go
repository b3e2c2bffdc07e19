package inventory_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestSyncStoresToolsUnchanged(t *testing.T) {
	opts := upstreamtest.Options{
		Name: "up", Instructions: "be kind", PageSize: 2, Eras: []upstreamtest.Era{upstreamtest.Era20250618},
		Tools: []upstreamtest.Tool{plainTool("zeta", `,"x":12345678901234567890`), plainTool("alpha", ""), plainTool("Mü", ` ,  "title":"\u00fc"`)},
	}
	eachSyncWorld(t, opts, func(t *testing.T, w *syncWorld) {
		r := w.mustSync(t)
		if got := changed(r); got != "+[zeta alpha Mü] ~[] -[] =3" || r.Server.Alias != "jira" || len(r.Warnings) != 0 {
			t.Errorf("got %s, %+v", got, r)
		}
		var want []models.Tool
		for i, tool := range opts.Tools {
			want = append(want, models.Tool{
				ServerID: "s", Name: []string{"zeta", "alpha", "Mü"}[i], Position: i, Definition: tool.Definition, DefinitionHash: toolset.HashDefinition([]byte(tool.Definition)),
				ConfirmedAccess: "destructive", FirstSeenAt: w.now, ChangedAt: w.now,
			})
		}
		if d := cmp.Diff(want, w.tools(t)); d != "" {
			t.Errorf("tools (-want +got):\n%s", d)
		}
		wantInventory := &models.Inventory{
			ServerID: "s", SyncedAt: &w.now, AttemptedAt: w.now, Warnings: models.StringList{}, ProtocolVersion: "2025-06-18", TransportUsed: models.TransportStreamableHTTP,
			ServerInfo: `{"name":"up","version":"1.0.0"}`, Capabilities: `{"tools":{"listChanged":true}}`, Instructions: "be kind",
		}
		if d := cmp.Diff(wantInventory, w.inventory(t)); d != "" {
			t.Errorf("inventory (-want +got):\n%s", d)
		}
		w.wantTouched(t, 0, true)
		if log := w.log.String(); !strings.Contains(log, "server=jira") || !strings.Contains(log, "added=3") {
			t.Errorf("logged %s", log)
		}
	})
}

func TestSyncWarnsOfAdaptedTools(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: []upstreamtest.Tool{plainTool("good", ""), plainTool("odd", `,"title":1`)}}, func(t *testing.T, w *syncWorld) {
		r := w.mustSync(t)
		want := []string{`tool "odd": title was removed: not a string`}
		if d := cmp.Diff(want, r.Warnings); d != "" || changed(r) != "+[good odd] ~[] -[] =2" {
			t.Errorf("%s (-want +got):\n%s", changed(r), d)
		}
		if d := cmp.Diff(models.StringList(want), w.inventory(t).Warnings); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
	})
}

func TestSyncKeepsApprovedDefinition(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		w.mustSync(t)
		first := w.tools(t)[0]
		change := func(title string) models.Tool {
			t.Helper()
			w.up.SetTools(plainTool("a", `,"title":"`+title+`"`))
			w.mustSync(t)
			return w.tools(t)[0]
		}
		approve := func() {
			t.Helper()
			tool := w.tools(t)[0]
			if err := w.db.Model(&tool).Update("approved_hash", tool.DefinitionHash).Error; err != nil {
				t.Fatal(err)
			}
		}
		if first.PreviousDefinition != "" {
			t.Errorf("new tool: PreviousDefinition = %q", first.PreviousDefinition)
		}
		second := change("second")
		if second.PreviousDefinition != first.Definition {
			t.Errorf("PreviousDefinition = %q", second.PreviousDefinition)
		}
		if third := change("third"); third.PreviousDefinition != second.Definition {
			t.Errorf("without approval: PreviousDefinition = %q", third.PreviousDefinition)
		}
		approve()
		approved := w.tools(t)[0]
		change("fourth")
		if fifth := change("fifth"); fifth.PreviousDefinition != approved.Definition {
			t.Errorf("pending approval: PreviousDefinition = %q", fifth.PreviousDefinition)
		}
	})
}

// TestSyncConfirmedAccess covers the effect that toolsets go by: it follows less
// safe annotations at once, and keeps the former one when they get safer.
func TestSyncConfirmedAccess(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: []upstreamtest.Tool{plainTool("a", `,"annotations":{"destructiveHint":false}`)}}, func(t *testing.T, w *syncWorld) {
		w.mustSync(t)
		const none, additive, read = ``, `,"annotations":{"destructiveHint":false}`, `,"annotations":{"readOnlyHint":true}`
		for i, step := range []struct{ annotations, want string }{
			{additive, "write"}, {read, "write"}, {read + `,"title":"T"`, "write"}, {additive, "write"}, {none, "destructive"}, {read, "destructive"}, {additive, "destructive"},
		} {
			w.up.SetTools(plainTool("a", step.annotations))
			w.mustSync(t)
			if got := w.tools(t)[0].ConfirmedAccess; got != step.want {
				t.Errorf("step %d: got %q, want %q", i, got, step.want)
			}
		}
		// A row of an older version has none: its definition counts.
		for _, tt := range []struct{ stored, listed, want string }{{none, read, "destructive"}, {read, read, "read"}, {read, none, "destructive"}} {
			w.up.SetTools(plainTool("a", tt.stored))
			w.mustSync(t)
			if err := w.db.Model(&models.Tool{}).Where("1 = 1").Update("confirmed_access", "").Error; err != nil {
				t.Fatal(err)
			}
			w.up.SetTools(plainTool("a", tt.listed))
			w.mustSync(t)
			if got := w.tools(t)[0].ConfirmedAccess; got != tt.want {
				t.Errorf("older row %s, then %s: got %q, want %q", tt.stored, tt.listed, got, tt.want)
			}
		}
	})
}

func TestUnchangedSyncTouchesNothing(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a", "b")}, func(t *testing.T, w *syncWorld) {
		w.mustSync(t)
		w.wantTouched(t, 0, true)
		before := w.tools(t)
		for range 2 {
			w.advance(time.Hour)
			if got := changed(w.mustSync(t)); got != "+[] ~[] -[] =2" {
				t.Errorf("got %s", got)
			}
			w.wantTouched(t, 1, false)
			if d := cmp.Diff(before, w.tools(t)); d != "" {
				t.Errorf("tools (-want +got):\n%s", d)
			}
			if i := w.inventory(t); !i.SyncedAt.Equal(w.now) || !i.AttemptedAt.Equal(w.now) {
				t.Errorf("SyncedAt = %v, AttemptedAt = %v, want %v", i.SyncedAt, i.AttemptedAt, w.now)
			}
		}
	})
}

func TestSyncReportsChanges(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a", "b", "c", "d")}, func(t *testing.T, w *syncWorld) {
		w.mustSync(t)
		born := w.now
		approved := map[string]string{}
		for _, tool := range w.tools(t) {
			approved[tool.Name] = tool.DefinitionHash
			if err := w.db.Model(&tool).Update("approved_hash", tool.DefinitionHash).Error; err != nil {
				t.Fatal(err)
			}
		}
		w.feed.take()
		w.advance(time.Hour)
		w.up.SetTools(plainTool("d", ""), plainTool("new", ""), plainTool("b", `,"title":"B"`))
		if got := changed(w.mustSync(t)); got != "+[new] ~[b] -[a c] =3" {
			t.Errorf("got %s", got)
		}
		w.wantTouched(t, 1, true)
		for i, want := range []struct {
			name           string
			born, changed  time.Time
			approved, same bool
		}{{"d", born, born, true, true}, {"new", w.now, w.now, false, false}, {"b", born, w.now, true, false}} {
			got := w.tools(t)[i]
			if got.Name != want.name || got.Position != i || !got.FirstSeenAt.Equal(want.born) || !got.ChangedAt.Equal(want.changed) {
				t.Errorf("tool %d = %+v, want %+v", i, got, want)
			}
			if wantHash := approved[want.name]; want.approved && got.ApprovedHash != wantHash || !want.approved && got.ApprovedHash != "" {
				t.Errorf("%s: ApprovedHash = %q, want %q", got.Name, got.ApprovedHash, wantHash)
			}
			if (got.ApprovedHash == got.DefinitionHash) != want.same {
				t.Errorf("%s is approved: %v", got.Name, !want.same)
			}
		}
		w.up.SetTools(plainTool("d", ""), plainTool("b", `,"title":"B"`), plainTool("new", ""))
		if got := changed(w.mustSync(t)); got != "+[] ~[] -[] =3" {
			t.Errorf("changed order: got %s", got)
		}
		w.wantTouched(t, 2, true)
		if got := w.tools(t); got[1].Name != "b" || got[2].Name != "new" {
			t.Errorf("order was not stored: %v", got)
		}
		w.up.SetTools()
		if got := changed(w.mustSync(t)); got != "+[] ~[] -[d b new] =0" || len(w.tools(t)) != 0 {
			t.Errorf("no tools: got %s", got)
		}
		w.wantTouched(t, 3, true)
	})
}

func TestFailedSyncKeepsTools(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a", "b"), Eras: []upstreamtest.Era{upstreamtest.Era20251125}}, func(t *testing.T, w *syncWorld) {
		w.mustSync(t)
		w.wantTouched(t, 0, true)
		good, tools := *w.inventory(t), w.tools(t)
		for i, tc := range []struct {
			fault   upstreamtest.Fault
			code    fault.Code
			reason  string
			touched bool
		}{
			{upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status, Status: http.StatusServiceUnavailable}, fault.CodeUpstreamUnavailable, "http:503", true},
			{upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status, Status: http.StatusServiceUnavailable}, fault.CodeUpstreamUnavailable, "http:503", false},
			{upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status, Status: http.StatusUnauthorized}, fault.CodeUpstreamUnauthorized, "credentials", true},
			{upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.InvalidJSON}, fault.CodeUpstreamInvalidResponse, "not-mcp", true},
		} {
			w.advance(time.Minute)
			w.up.SetFault(tc.fault)
			before := w.revision(t)
			r, err := w.Sync(testContext(t), "s")
			wantFault(t, err, tc.code)
			if len(r.Added)+len(r.Changed)+len(r.Removed) != 0 {
				t.Errorf("%d: got %s", i, changed(r))
			}
			w.wantTouched(t, before, tc.touched)
			if d := cmp.Diff(tools, w.tools(t)); d != "" {
				t.Errorf("%d: tools (-want +got):\n%s", i, d)
			}
			got, want := *w.inventory(t), good
			want.AttemptedAt, want.ErrorCode, want.ErrorMessage, want.ErrorReason = w.now, string(tc.code), fault.From(err).Message, tc.reason
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d: inventory (-want +got):\n%s", i, d)
			}
			if !strings.Contains(w.log.String(), "sync failed") {
				t.Errorf("%d: logged %s", i, w.log)
			}
		}
		w.up.SetFault()
		w.advance(time.Minute)
		before := w.revision(t)
		w.mustSync(t)
		w.wantTouched(t, before, true)
		if i := w.inventory(t); i.ErrorCode != "" || i.ErrorMessage != "" || !i.SyncedAt.Equal(w.now) {
			t.Errorf("after it recovered: %+v", i)
		}
	})
}

func TestFailedFirstSyncIsRecorded(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{}, func(t *testing.T, w *syncWorld) {
		w.up.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: http.StatusBadGateway})
		_, err := w.Sync(testContext(t), "s")
		wantFault(t, err, fault.CodeUpstreamUnavailable)
		w.wantTouched(t, 0, true)
		if i := w.inventory(t); i.SyncedAt != nil || i.ErrorCode != string(fault.CodeUpstreamUnavailable) || !i.AttemptedAt.Equal(w.now) {
			t.Errorf("recorded %+v", i)
		}
		w.up.SetFault()
		w.mustSync(t)
		w.wantTouched(t, 1, true) // it has no tools, and the failure is new
	})
}

func TestInternalErrorsAreNeutral(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		w.feed.err = errors.New("nobody hears")
		if _, err := w.Sync(testContext(t), "s"); !errors.Is(err, w.feed.err) {
			t.Errorf("failed publish: %v", err)
		}
		if len(w.tools(t)) != 1 {
			t.Error("change was not committed")
		}
	})
}

func TestConfigurationChangeDiscardsSync(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		edit := func() {
			if err := w.db.Model(&models.Server{}).Where("id = ?", "s").Update("config_version", gorm.Expr("config_version + 1")).Error; err != nil {
				t.Error(err)
			}
		}
		w.beforeList(edit)
		_, err := w.Sync(testContext(t), "s")
		wantFault(t, err, fault.CodeConflict, "jira", "It will sync again")
		w.up.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: http.StatusBadGateway})
		_, err = w.Sync(testContext(t), "s") // a failure of the older configuration does not count for the new one
		wantFault(t, err, fault.CodeConflict)
		w.wantTouched(t, 0, false)
		var inventories int64
		if err := w.db.Model(&models.Inventory{}).Count(&inventories).Error; err != nil || inventories != 0 || len(w.tools(t)) != 0 {
			t.Errorf("%d inventories and %d tools were stored, %v", inventories, len(w.tools(t)), err)
		}
		w.beforeList(nil)
		w.up.SetFault()
		if got := changed(w.mustSync(t)); got != "+[a] ~[] -[] =1" {
			t.Errorf("got %s", got)
		}
	})
}

func TestDeletedServer(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		_, err := w.Sync(testContext(t), "unknown")
		wantFault(t, err, fault.CodeNotFound)
		w.beforeList(func() {
			if err := w.db.Delete(&models.Server{}, "id = ?", "s").Error; err != nil {
				t.Error(err)
			}
		})
		_, err = w.Sync(testContext(t), "s")
		wantFault(t, err, fault.CodeNotFound)
		w.wantTouched(t, 0, false)
		if len(w.tools(t)) != 0 {
			t.Error("tools of a deleted server were stored")
		}
	})
}

func TestUnstorableNamesAreOmitted(t *testing.T) {
	name := func(n int) string { return strings.Repeat("x", n) }
	opts := upstreamtest.Options{
		Instructions: "before\x00after",
		Tools:        append(plainTools("a", name(399), name(400), name(401)), upstreamtest.Tool{Definition: `{"name":"nu\u0000ll","description":"\u0000"}`}, upstreamtest.Tool{Definition: `{"name":"b","description":"\u0000","inputSchema":{"type":"object"}}`}),
	}
	eachSyncWorld(t, opts, func(t *testing.T, w *syncWorld) {
		r := w.mustSync(t)
		if want := "+[a " + name(399) + " " + name(400) + " b] ~[] -[] =4"; changed(r) != want {
			t.Errorf("got %s, want %s", changed(r), want)
		}
		if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "400 bytes") || len(w.inventory(t).Warnings) != 2 {
			t.Errorf("warnings %q", r.Warnings)
		}
		if got := w.inventory(t).Instructions; got != "beforeafter" {
			t.Errorf("instructions %q", got)
		}
		w.wantTouched(t, 0, true)
		w.mustSync(t)
		w.wantTouched(t, 1, false)
	})
}

func TestWarningChangesAreReported(t *testing.T) {
	nameless := plainTool("", "")
	eachSyncWorld(t, upstreamtest.Options{Tools: append(plainTools("a"), nameless)}, func(t *testing.T, w *syncWorld) {
		if r := w.mustSync(t); len(r.Warnings) != 1 || r.Total != 1 {
			t.Errorf("got %s with warnings %q", changed(r), r.Warnings)
		}
		w.wantTouched(t, 0, true)
		w.up.SetTools(plainTools("a")...)
		w.mustSync(t)
		w.wantTouched(t, 1, true)
		if got := w.inventory(t).Warnings; len(got) != 0 {
			t.Errorf("warnings %q", got)
		}
	})
}

// TestRepeatedFailureTouchesNothing checks messages that quote the response to
// a request, which contains the ID of the request.
func TestRepeatedFailureTouchesNothing(t *testing.T) {
	answer := ""
	opts := upstreamtest.Options{Methods: map[string]upstreamtest.Handler{
		"tools/list": func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(answer) },
	}}
	eachSyncWorld(t, opts, func(t *testing.T, w *syncWorld) {
		for _, step := range []struct {
			answer  string
			touched bool
		}{{"oops", true}, {"oops", false}, {"alas", true}} {
			answer = step.answer
			before := w.revision(t)
			if _, err := w.Sync(t.Context(), "s"); fault.From(err).Code != fault.CodeUpstreamInvalidResponse {
				t.Fatalf("Sync() error = %v", err)
			}
			w.wantTouched(t, before, step.touched)
			if message := w.inventory(t).ErrorMessage; !strings.Contains(message, step.answer) {
				t.Errorf("stored %q", message)
			}
		}
	})
}
