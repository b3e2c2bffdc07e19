package code_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/views/admin/code"
)

func TestExcerptLines(t *testing.T) {
	const text = "1\n2\n3\n4\n5\n6\n7\n8\n9"
	for _, c := range []struct {
		line int
		want string // the numbers of the lines, the wrong one with a mark
	}{
		{0, ""}, {1, "1! 2 3 4"}, {4, "1 2 3 4! 5 6 7"}, {5, "2 3 4 5! 6 7 8"}, {8, "5 6 7 8! 9"}, {9, "6 7 8 9!"}, {10, ""}, {-1, ""},
	} {
		var got []string
		for _, l := range code.Excerpt(text, c.line) {
			mark := ""
			if l.Wrong {
				mark = "!"
			}
			got = append(got, l.Text+mark)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", c.line, diff)
		}
	}
	long := code.Excerpt("\t"+strings.Repeat("é", 300)+"\u202e", 1)[0]
	if n := len([]rune(long.Text)); n != 201 || strings.ContainsAny(long.Text, "\t\u202e") {
		t.Errorf("a long line has %d characters: %q", n, long.Text)
	}
}
