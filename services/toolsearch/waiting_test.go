package toolsearch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/upstream"
)

// waiting reports pending authorizations by server.
type waiting map[string]string

func (w waiting) Pending(_ context.Context, server *models.Server, _ string) upstream.Pending {
	if w[server.ID] == "" {
		return upstream.Pending{}
	}
	return upstream.Pending{Code: upstream.WarningNeedsConnection, Reason: w[server.ID]}
}

// down reports paused servers.
type down map[string]string

func (d down) Outage(serverID string) string { return d[serverID] }

// TestUncallableServersWarning searches a server whose
// connection ended after its sync, and a paused one.
func TestUncallableServersWarning(t *testing.T) {
	f := newFixture("p").server("notes", nil, tool("find_note", "Finds a note"))
	project := f.snapshot()
	id := project.Servers[0].Config.ID
	const connect = "SERVER_NEEDS_CONNECTION The tools of server notes were searched, but calling them may fail: connect it again"
	for _, arguments := range []string{`{"task":"find a note"}`, `{"query":"note"}`} {
		for _, c := range []struct {
			waits waiting
			down  down
			want  string
		}{
			{},
			{waiting{"another": "why"}, down{"another": "why"}, ""},
			{waiting{id: "connect it again"}, nil, connect},
			{waiting{id: "connect it again"}, down{id: "it is gone"}, connect},
			{nil, down{id: "it is gone"}, "SERVER_UNAVAILABLE The tools of server notes were searched, but calls currently fail: it is gone"},
		} {
			s := newSearcher(t, func(o *toolsearch.Options) { o.Waiting, o.Outages = c.waits, c.down })
			raw, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "me"}, []byte(arguments))
			if err != nil {
				t.Fatal(err)
			}
			var answer struct {
				Warnings []struct{ Code, Message string } `json:"warnings"`
			}
			if err := json.Unmarshal(raw, &answer); err != nil {
				t.Fatal(err)
			}
			var said string
			for _, w := range answer.Warnings {
				said += w.Code + " " + w.Message
			}
			if said != c.want || !strings.Contains(string(raw), "notes__find_note") {
				t.Errorf("%s with %v: %s", arguments, c, raw)
			}
		}
	}
}
