package query_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"pgregory.net/rapid"

	"mcpgateway/services/query"
)

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"abc", "ABC", "aBc", "ＡＢＣ", "ａｂｃ"},
		{"strasse", "Straße", "STRASSE", "STRAẞE"},
		{"σισυφος", "ΣΙΣΥΦΟΣ", "σισυφοσ"},
		{"é", "É", "e\u0301", "E\u0301"},
		{"ǰ", "j\u030c", "J\u030c"},
		{"ﬁle", "file", "FILE"},
		{"①", "1"},
		{"ガ", "ｶﾞ", "カ\u3099"},
		{"Å", "å", "Å", "A\u030a"},
		{"привет", "ПРИВЕТ"},
		{"\uab70\uabbf", "\u13a0\u13ef"},
		{"\u13f8\u13fd", "\u13f0\u13f5"},
		{"a b", "A\u00a0B"},
	} {
		for _, s := range same[1:] {
			if query.Fold(s) != query.Fold(same[0]) {
				t.Errorf("%q folds to %q, but %q to %q", s, query.Fold(s), same[0], query.Fold(same[0]))
			}
		}
	}
	for _, other := range [][2]string{{"e", "é"}, {"o", "ø"}, {"i", "ı"}, {"a", "α"}} {
		if query.Fold(other[0]) == query.Fold(other[1]) {
			t.Errorf("%q and %q are folded together", other[0], other[1])
		}
	}
}

func TestFoldLettersIsIdempotent(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsGraphic(r) {
			continue
		}
		once := query.Fold(string(r))
		if once == "" {
			t.Errorf("%U folds to nothing", r)
		}
		if twice := query.Fold(once); twice != once {
			t.Errorf("%U folds to %+q and then to %+q", r, once, twice)
		}
	}
}

func TestFoldTextsIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom(nil, unicode.Mn, unicode.Lu, unicode.Hangul))).Draw(t, "s")
		once := query.Fold(s)
		if twice := query.Fold(once); twice != once {
			t.Fatalf("%+q folds to %+q and then to %+q", s, once, twice)
		}
	})
}

func TestLetterCasesFoldTogether(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); other != r && query.Fold(string(r)) != query.Fold(string(other)) {
			t.Errorf("%U and %U fold to %+q and %+q", r, other, query.Fold(string(r)), query.Fold(string(other)))
		}
	}
}

func TestASCIIFoldMatchesUnicode(t *testing.T) {
	var all strings.Builder
	for c := range utf8.RuneSelf {
		all.WriteRune(rune(c))
	}
	if got, want := query.Fold(all.String()), cases.Fold().String(all.String()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
