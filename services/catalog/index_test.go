package catalog_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
)

// word generates words with common letters, so that terms match at many
// positions.
func word() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"git", "github", "hub", "digit", "Git-Hub", "a", "b", "ab", "ba", "aba", "Äb", "straße", "STRASSE", "日本", "日本語", "é", "e\u0301", "ﬁ", "(git)", "x_y", "\u00a8a"}),
		rapid.StringMatching(`[abAB1_.-]{1,4}`),
	)
}

func phraseOf(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word(), 1, most).Draw(t, "words"), " ")
	})
}

func entryOf() *rapid.Generator[*models.CatalogEntry] {
	return rapid.Custom(func(t *rapid.T) *models.CatalogEntry {
		return &models.CatalogEntry{
			PublisherName: word().Draw(t, "publisher"), PublisherTitle: phraseOf(2).Draw(t, "publisherTitle"),
			ServerName: word().Draw(t, "server"), ServerTitle: phraseOf(3).Draw(t, "title"),
			ServerType:  rapid.SampledFrom([]string{"http", "sse", "stdio"}).Draw(t, "type"),
			Tags:        rapid.SliceOfN(phraseOf(2), 0, 3).Draw(t, "tags"),
			Verified:    rapid.Bool().Draw(t, "verified"),
			Featured:    rapid.Bool().Draw(t, "featured"),
			Description: phraseOf(5).Draw(t, "description"),
			Status:      rapid.SampledFrom([]models.CatalogStatus{models.CatalogActive, models.CatalogActive, models.CatalogDeprecated, models.CatalogDeleted}).Draw(t, "status"),
			Hidden:      rapid.IntRange(0, 9).Draw(t, "hidden") == 0,
		}
	})
}

func clauseOf() *rapid.Generator[string] {
	quoted := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return rapid.Custom(func(t *rapid.T) string {
		sign := rapid.SampledFrom([]string{"", "", "-"}).Draw(t, "sign")
		text := phraseOf(2).Draw(t, "text")
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return sign + "tag:" + quoted(text)
		case 1:
			return sign + "publisher:" + quoted(text)
		case 2:
			return sign + "transport:" + rapid.SampledFrom([]string{"http", "HTTP", "sse", "tcp"}).Draw(t, "transport")
		case 3:
			return sign + rapid.SampledFrom([]string{"verified:true", "verified:false", "featured:true", "featured:FALSE"}).Draw(t, "flag")
		case 4, 5:
			return sign + quoted(text)
		default:
			runes := []rune(rapid.SampledFrom(strings.Fields(text)).Draw(t, "word"))
			from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
			return sign + quoted(string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(t, "to")]))
		}
	})
}

// naive returns the ids of the matching rows by checking every row.
func naive(t *rapid.T, rows []*models.CatalogEntry, text string) []string {
	q, err := query.Registry().Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	type hit struct {
		*models.CatalogEntry
		score int
	}
	var hits []hit
	for _, e := range rows {
		if e.Hidden || e.Status == models.CatalogDeleted {
			continue
		}
		score := 0
		matched := q.Matches(func(c *query.Clause) bool {
			switch c.Qualifier {
			case "tag":
				return slices.ContainsFunc(e.Tags, func(tag string) bool { return query.Fold(tag) == c.Folded })
			case "publisher":
				return query.Fold(e.PublisherName) == c.Folded || query.Fold(e.PublisherTitle) == c.Folded
			case "transport":
				return e.ServerType == c.Folded
			case "verified":
				return e.Verified == c.Bool
			case "featured":
				return e.Featured == c.Bool
			}
			tier := naiveTier(e, c.Folded)
			if !c.Negated {
				score += tier
			}
			return tier > 0
		})
		if matched {
			hits = append(hits, hit{e, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		flag := func(a, b bool) int { return len(fmt.Sprint(a)) - len(fmt.Sprint(b)) } // true is shorter
		return cmp.Or(b.score-a.score, flag(a.Featured, b.Featured), flag(a.Verified, b.Verified),
			strings.Compare(query.Fold(a.ServerTitle), query.Fold(b.ServerTitle)), strings.Compare(a.ID, b.ID))
	})
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return ids
}

// naiveTier implements the contract independently: title exact 7, prefix 6,
// word start 5, inside 4, serverName/publisher 3, tag 2, description 1.
func naiveTier(e *models.CatalogEntry, term string) int {
	title := query.Fold(e.ServerTitle)
	switch {
	case title == term:
		return 7
	case strings.HasPrefix(title, term):
		return 6
	}
	tier := 0
	for at := range title {
		if strings.HasPrefix(title[at:], term) {
			tier = max(tier, 4)
			before := []rune(title[:at])
			if at == 0 || !isWord(before[len(before)-1]) {
				tier = 5
			}
		}
	}
	if tier > 0 {
		return tier
	}
	for _, name := range []string{e.ServerName, e.PublisherName, e.PublisherTitle} {
		if strings.Contains(query.Fold(name), term) {
			return 3
		}
	}
	for _, tag := range e.Tags {
		if strings.Contains(query.Fold(tag), term) {
			return 2
		}
	}
	if strings.Contains(query.Fold(e.Description), term) {
		return 1
	}
	return 0
}

func TestIndexMatchesLinearScan(t *testing.T) {
	cursors := page.NewCursors(ring(t))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(entryOf(), 0, 12).Draw(t, "rows")
		for i := range rows {
			rows[i].ID = fmt.Sprintf("id-%02d", (i*7)%13)
		}
		c, err := catalog.Of(rows, nil, cursors)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(rapid.SliceOfN(clauseOf(), 0, 4).Draw(t, "query"), " ")
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var got []string
		search := catalog.Search{Text: text, Limit: limit}
		for {
			found, err := c.Entries(t.Context(), search)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found.Rows {
				got = append(got, e.ID)
			}
			if found.NextCursor == "" {
				if found.Total != len(got) {
					t.Fatalf("total = %d, want %d", found.Total, len(got))
				}
				break
			}
			search.Continue, search.Cursor = true, found.NextCursor
		}
		if diff := gocmp.Diff(naive(t, rows, text), append([]string{}, got...)); diff != "" {
			t.Fatalf("%s (-scan +index):\n%s", text, diff)
		}
	})
}

// manyRows returns n copies of the built-in rows with different names and some
// words that no other row has.
func manyRows(tb testing.TB, n int) []*models.CatalogEntry {
	tb.Helper()
	seed := builtIn(tb)
	rows := make([]*models.CatalogEntry, n)
	for i := range rows {
		e := seed[i%len(seed)]
		e.ID = fmt.Sprintf("%08d-0000", i)
		e.ServerName = fmt.Sprintf("%s-%d", e.ServerName, i)
		e.ServerTitle = fmt.Sprintf("%s %d", e.ServerTitle, i/len(seed))
		e.Description += fmt.Sprintf(" Variant v%05d for region r%d.", i, i%37)
		e.CreatedAt, e.UpdatedAt = time.Unix(int64(i), 0), time.Unix(int64(i), 0)
		rows[i] = &e
	}
	return rows
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
