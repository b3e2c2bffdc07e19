package ui_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/views/ui"
)

func TestTextDiffMarksWords(t *testing.T) {
	tests := []struct {
		name  string
		lines []ui.DiffLine
		want  []string // parts of the HTML
	}{
		{
			"replaced line",
			[]ui.DiffLine{{Op: '-', Text: "Change title or priority of an issue."}, {Op: '+', Text: "Change title, priority or archive state of an issue."}},
			[]string{"Change title<del> or</del> priority of an issue.", "Change title<ins>,</ins> priority <ins>or archive state </ins>of an issue."},
		},
		{
			"other text",
			[]ui.DiffLine{{Op: '-', Text: "List issues."}, {Op: '+', Text: "Drop every table"}},
			[]string{"− </td>List"},
		},
		{
			"numbers",
			[]ui.DiffLine{{Op: '@', Skip: 3}, {Op: ' ', Text: "a"}, {Op: '-', Text: "b"}, {Op: '+', Text: "c"}, {Op: '+', Text: "d"}},
			[]string{"3 unchanged lines", `<td class="ln">4</td>`, `<td class="ln">5</td>`, `<td class="ln">6</td>`},
		},
		{
			"hidden characters",
			[]ui.DiffLine{{Op: '-', Text: "Reads one file of the given folder and returns it"}, {Op: '+', Text: "Reads\u202e one file of the given folder and <b> returns it"}},
			[]string{"Reads<ins>⟨U+202E⟩</ins>", "&lt;b&gt;"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := ui.TextDiff("Changes", tt.lines).Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(b.String()), " ")
			for _, want := range tt.want {
				if tt.name == "other text" {
					if strings.Contains(got, "<del>") || strings.Contains(got, "<ins>") {
						t.Errorf("marks in %s", got)
					}
				} else if !strings.Contains(got, want) {
					t.Errorf("%q not in %s", want, got)
				}
			}
			if strings.Contains(got, "\u202e") {
				t.Errorf("hidden character in %s", got)
			}
		})
	}
}

func TestHunks(t *testing.T) {
	same := func(n int) (lines []ui.DiffLine) {
		for range n {
			lines = append(lines, ui.DiffLine{Op: ' ', Text: "x"})
		}
		return lines
	}
	change := ui.DiffLine{Op: '+', Text: "y"}
	join := func(parts ...[]ui.DiffLine) (all []ui.DiffLine) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	one := []ui.DiffLine{change}
	skip := func(n int) []ui.DiffLine { return []ui.DiffLine{{Op: '@', Skip: n}} }
	for name, tt := range map[string]struct{ lines, want []ui.DiffLine }{
		"no change":  {same(2), skip(2)},
		"at start":   {join(one, same(3)), join(one, same(2), skip(1))},
		"near":       {join(one, same(4), one), join(one, same(4), one)},
		"apart":      {join(one, same(5), one), join(one, same(2), skip(1), same(2), one)},
		"in between": {join(same(3), one, same(2)), join(skip(1), same(2), one, same(2))},
		"empty":      {nil, nil},
	} {
		if diff := cmp.Diff(tt.want, ui.Hunks(tt.lines, 2)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPagesLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		page, last int
		want       string
	}{
		"one page": {1, 1, ""},
		"few":      {2, 3, "1 [2] 3"},
		"seven":    {4, 7, "1 2 3 [4] 5 6 7"},
		"first":    {1, 8, "[1] 2 … 8"},
		"middle":   {5, 9, "1 … 4 [5] 6 … 9"},
		"last":     {20, 20, "1 … 19 [20]"},
	} {
		var b strings.Builder
		p := ui.PagesProps{Page: tt.page, Last: tt.last, URL: func(n int) string { return "/p?page=" + ui.Count(n) }}
		if err := ui.Pages(p).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		html := b.String()
		if got := strings.Join(linkTexts(html), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// linkTexts returns the texts of links and gaps, the current page in brackets.
func linkTexts(html string) (texts []string) {
	for _, piece := range strings.Split(html, "<")[1:] {
		tag, text, _ := strings.Cut(piece, ">")
		switch {
		case strings.HasPrefix(tag, "a ") && strings.Contains(tag, `aria-current="page"`):
			texts = append(texts, "["+strings.TrimSpace(text)+"]")
		case strings.HasPrefix(tag, "a "), strings.Contains(tag, `aria-hidden="true"`):
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return texts
}
