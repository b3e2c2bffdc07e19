package page_test

import (
	"encoding/json"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
)

type item struct {
	ID string `json:"id"`
}

func TestPageJSON(t *testing.T) {
	warning := []fault.Warning{{Code: "W", Message: "m", Span: &fault.Span{Start: 0, End: 2}}}
	missing := []page.Unavailable{{Server: "jira", Reason: "never synced: connection refused"}}
	for _, tc := range []struct {
		name string
		page any
		want string
	}{
		{"nothing found", page.NewItems[item](nil, "", nil, nil), `{"items":[],"count":0,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{"empty lists", page.NewResults([]item{}, "", []fault.Warning{}, []page.Unavailable{}), `{"results":[],"count":0,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{"the last page of the catalog", page.NewItems([]item{{"a"}, {"b"}}, "", nil, nil), `{"items":[{"id":"a"},{"id":"b"}],"count":2,"nextCursor":null,"warnings":[],"coverage":{"kind":"complete"}}`},
		{"a page of tools", page.NewResults([]item{{"a"}}, "next", warning, missing),
			`{"results":[{"id":"a"}],"count":1,"nextCursor":"next","warnings":[{"code":"W","message":"m","span":{"start":0,"end":2}}],"coverage":{"kind":"partial","unavailable":[{"server":"jira","reason":"never synced: connection refused"}]}}`},
		{"a page of another shape", struct {
			Declarations string `json:"declarations"`
			page.Envelope
		}{"declare", page.NewEnvelope(3, "next", nil, nil)}, `{"declarations":"declare","count":3,"nextCursor":"next","warnings":[],"coverage":{"kind":"complete"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(tc.page)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
