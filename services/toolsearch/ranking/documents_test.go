package ranking_test

import (
	"slices"
	"testing"

	"mcpgateway/services/toolsearch/ranking"
)

func TestDocumentsRank(t *testing.T) {
	x := ranking.BuildDocuments([]ranking.Document{
		{Title: "Neon", Owner: []string{"Neon"}, Topics: []string{"postgresql", "database"}, Description: "Create branches of a database.", Parts: []string{"create_branch"}},
		{Title: "Calendar", Owner: []string{"Acme"}, Topics: []string{"calendar"}, Description: "Read events and find free time."},
		{Title: "Mail", Owner: []string{"Acme"}, Topics: []string{"email"}, Description: "Send mail about events of a calendar."},
		{Title: "Twin", Description: "The same."},
		{Title: "Twin", Description: "The same."},
	})
	every := func(int) bool { return true }
	for _, tc := range []struct {
		task  string
		count int
		keep  func(int) bool
		want  []int
	}{
		{"calendar", 5, every, []int{1, 2}},
		{"calendar", 1, every, []int{1}},
		{"calendar", 0, every, nil},
		{"calendar", 5, func(i int) bool { return i != 1 }, []int{2}},
		{"calender events", 2, every, []int{1, 2}},
		{"postgresql", 5, every, []int{0}},
		{"create_branch", 1, every, []int{0}},
		{"acme", 5, every, []int{1, 2}},
		{"twin", 5, every, []int{3, 4}},
		{"zzzzzzzz", 5, every, nil},
		{"", 5, every, nil},
	} {
		if got := x.Rank(tc.task, tc.count, tc.keep); !slices.Equal(got, tc.want) {
			t.Errorf("Rank(%q, %d) = %v, want %v", tc.task, tc.count, got, tc.want)
		}
	}
	if got := ranking.BuildDocuments(nil).Rank("calendar", 5, every); len(got) > 0 {
		t.Errorf("no documents: %v", got)
	}
}
