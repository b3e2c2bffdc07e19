package toolsearch_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// waiting says that every server it names waits for a person.
type waiting map[string]string

func (w waiting) Why(serverID string) string { return w[serverID] }

// TestSearchesTellOfServersThatNeedAPerson searches a server whose connection
// ended after its tools were read.
func TestSearchesTellOfServersThatNeedAPerson(t *testing.T) {
	f := newFixture("p").server("notes", nil, tool("find_note", "Finds a note"))
	project := f.snapshot()
	id := project.Servers[0].Config.ID
	for _, arguments := range []string{`{"task":"find a note"}`, `{"query":"note"}`} {
		for _, waits := range []waiting{nil, {"another": "why"}, {id: "connect it again"}} {
			s := newSearcher(t)
			s.Explain(waits)
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
			want := ""
			if waits[id] != "" {
				want = "SERVER_NEEDS_CONNECTION the tools of server notes were found, but calling them may fail: connect it again"
			}
			if said != want || !strings.Contains(string(raw), "notes__find_note") {
				t.Errorf("%s with %v: %s", arguments, waits, raw)
			}
		}
	}
}
