package toolsearch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/services/toolsearch"
)

// waiting says that every server it names waits for a person.
type waiting map[string]string

func (w waiting) Why(serverID string) string { return w[serverID] }

// down says that calls are kept away from every server it names.
type down map[string]string

func (d down) Outage(serverID string) string { return d[serverID] }

// TestSearchesTellOfServersThatCannotBeCalled searches a server whose connection
// ended after its tools were read, and one that is out.
func TestSearchesTellOfServersThatCannotBeCalled(t *testing.T) {
	f := newFixture("p").server("notes", nil, tool("find_note", "Finds a note"))
	project := f.snapshot()
	id := project.Servers[0].Config.ID
	const connect = "SERVER_NEEDS_CONNECTION the tools of server notes were found, but calling them may fail: connect it again"
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
			{nil, down{id: "it is gone"}, "SERVER_UNAVAILABLE the tools of server notes were found, but calling them fails at present: it is gone"},
		} {
			s := newSearcher(t, func(o *toolsearch.Options) { o.Waiting, o.Outages = c.waits, c.down })
			raw, err := s.Search(t.Context(), project, "me", []byte(arguments))
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
