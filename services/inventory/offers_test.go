package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// offering returns the methods of an upstream that responds to each list method
// with the given raw value.
func offering(lists map[string]string) map[string]upstreamtest.Handler {
	methods := map[string]upstreamtest.Handler{}
	for method, result := range lists {
		methods[method] = func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
	}
	return methods
}

func allOffers() map[string]string {
	return map[string]string{
		"prompts/list":             `{"prompts":[{"name":"p1", "x":1e400},{"name":"p2"}]}`,
		"resources/list":           `{"resources":[{"uri":"test://r","name":"r"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"test://{id}" ,"name":"t"}]}`,
	}
}

func (w *syncWorld) listings(t *testing.T) []models.Listing {
	t.Helper()
	var rows []models.Listing
	if err := w.db.Order("kind, position").Find(&rows, "server_id = ?", "s").Error; err != nil {
		t.Fatal(err)
	}
	return rows
}

// idents returns the stored listings as one line.
func idents(rows []models.Listing) string {
	var all []string
	for _, row := range rows {
		all = append(all, string(row.Kind)+" "+row.Ident)
	}
	return strings.Join(all, ", ")
}

func TestSyncStoresOffers(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		lists := allOffers()
		methods := map[string]upstreamtest.Handler{}
		broken := ""
		for method := range lists {
			methods[method] = func(context.Context, *upstreamtest.Call) upstreamtest.Result {
				if method == broken {
					return upstreamtest.Error(-32603, "sorry")
				}
				return upstreamtest.JSON(lists[method])
			}
		}
		w := newSyncWorld(t, db, upstreamtest.Options{Capabilities: everything, Tools: plainTools("a"), Methods: methods})
		w.mustSync(t)
		w.wantTouched(t, 0, true)
		if got := idents(w.listings(t)); got != "prompt p1, prompt p2, resource test://r, template test://{id}" {
			t.Errorf("stored %s", got)
		}
		if row := w.listings(t)[0]; row.Definition != `{"name":"p1", "x":1e400}` {
			t.Errorf("stored as %s", row.Definition)
		}
		w.mustSync(t)
		w.wantTouched(t, 1, false)

		for i, step := range []struct{ method, list, want string }{
			{"prompts/list", `{"prompts":[{"name":"p2"},{"name":"p1", "x":1e400}]}`, "prompt p2, prompt p1, resource test://r, template test://{id}"},
			{"prompts/list", `{"prompts":[{"name":"p2","title":"new"},{"name":"p1", "x":1e400}]}`, "prompt p2, prompt p1, resource test://r, template test://{id}"},
			{"prompts/list", `{"prompts":[{"name":"p3"}]}`, "prompt p3, resource test://r, template test://{id}"},
			{"resources/list", `{"resources":[]}`, "prompt p3, template test://{id}"},
			{"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"a"},{"uriTemplate":"b"}]}`, "prompt p3, template a, template b"},
		} {
			lists[step.method] = step.list
			w.mustSync(t)
			w.wantTouched(t, int64(i+1), true)
			if got := idents(w.listings(t)); got != step.want {
				t.Errorf("step %d: stored %s, want %s", i, got, step.want)
			}
		}

		// A failed list keeps its stored elements; the other lists are updated.
		broken = "resources/templates/list"
		lists["prompts/list"] = `{"prompts":[{"name":"p4"}]}`
		w.up.SetTools(plainTools("a", "b")...)
		r := w.mustSync(t)
		if got := changed(r); got != "+[b] ~[] -[] =2" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "resource templates failed to load") || !strings.Contains(r.Warnings[0], "sorry") {
			t.Errorf("got %s, warnings %q", got, r.Warnings)
		}
		if got := idents(w.listings(t)); got != "prompt p4, template a, template b" {
			t.Errorf("stored %s", got)
		}
		if i := w.inventory(t); i.ErrorCode != "" || len(i.Warnings) != 1 {
			t.Errorf("inventory = %+v", i)
		}
		before := w.revision(t)
		w.feed.take()
		w.mustSync(t)
		w.wantTouched(t, before, false)

		// If the tools fail, everything is kept.
		w.up.SetFault(upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status, Status: http.StatusServiceUnavailable})
		if _, err := w.Sync(testContext(t), "s"); err == nil {
			t.Error("sync succeeded")
		}
		if got := idents(w.listings(t)); got != "prompt p4, template a, template b" {
			t.Errorf("stored %s", got)
		}
	})
}

func TestSyncRemovesMissingOffers(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := newSyncWorld(t, db, upstreamtest.Options{Capabilities: `{"tools":{}}`, Tools: plainTools("a")})
		for i := range 1100 { // more than one statement can delete
			row := models.Listing{ServerID: "s", Kind: models.ListingResource, Ident: fmt.Sprint("u", i), Position: i, Definition: "{}"}
			if err := db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		w.mustSync(t)
		if n := len(w.listings(t)); n != 0 {
			t.Errorf("%d listings remain", n)
		}
		w.wantTouched(t, 0, true)
	})
}

func TestUnindexableOffersAreOmitted(t *testing.T) {
	var incompressible strings.Builder
	for i := 0; incompressible.Len() < 2000; i++ {
		incompressible.WriteString(toolset.HashDefinition([]byte{byte(i)}))
	}
	long := incompressible.String()[:2000]
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := newSyncWorld(t, db, upstreamtest.Options{Capabilities: everything, Tools: plainTools("a"), Methods: offering(map[string]string{
			"resources/list": `{"resources":[{"uri":"` + long + `"},{"uri":"` + long + `x"},{"uri":"nul\u0000"},{"uri":"u","name":"\u0000 \ud83d\ude00"}]}`,
		})})
		r := w.mustSync(t)
		if got := idents(w.listings(t)); got != "resource "+long+", resource u" || len(r.Warnings) != 2 {
			t.Errorf("stored %s, warnings %q", got, r.Warnings)
		}
	})
}

func TestHangingListsDontDelayTools(t *testing.T) {
	const limit = 300 * time.Millisecond
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(id json.RawMessage, result string) {
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+result+`}`)
		}
		switch m := received(r); m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-11-25","capabilities":`+everything+`,"serverInfo":{"name":"up","version":"1"}}`)
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
		case "resources/templates/list":
			answer(m.ID, `{"resourceTemplates":[]}`)
		case "resources/list", "prompts/list":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	dsn := modelstest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		db := modelstest.Open(t, dsn)
		storeServer(t, db, "http://s.example/mcp")
		if err := db.Model(&models.Server{}).Where("id = ?", "s").Update("timeout_ms", limit.Milliseconds()).Error; err != nil {
			t.Fatal(err)
		}
		pool := pool.New(&http.Client{Transport: hosts{"s.example": up}}, "1")
		defer pool.Close()
		began := time.Now()
		r, err := replica(db, pool, nil).Sync(t.Context(), "s")
		if got := changed(r); err != nil || got != "+[a] ~[] -[] =1" || len(r.Warnings) != 2 {
			t.Errorf("got %s, warnings %q, %v", got, r.Warnings, err)
		}
		if took := time.Since(began); took != limit { // the limit applies to all lists together
			t.Errorf("took %s, want %s", took, limit)
		}
	})
}
