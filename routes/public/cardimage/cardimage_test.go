package cardimage_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"mcpgateway/routes/public/cardimage"
)

func decoded(t testing.TB, c cardimage.Card) *image.RGBA {
	t.Helper()
	raw, err := cardimage.Draw(c, image.NewGray(image.Rect(0, 0, 180, 180)))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != cardimage.Width || size.Y != cardimage.Height {
		t.Fatalf("size = %v", size)
	}
	if len(raw) > 100_000 {
		t.Errorf("%d bytes", len(raw))
	}
	rgba, ok := picture.(*image.RGBA)
	if !ok {
		t.Fatalf("picture is %T", picture)
	}
	return rgba
}

// marginsAreFree reports whether no text was drawn left or right of the column.
func marginsAreFree(picture *image.RGBA) bool {
	empty := picture.RGBAAt(10, 300)
	for y := 20; y < cardimage.Height; y++ {
		for _, x := range []int{40, 60, 79, cardimage.Width - 79, cardimage.Width - 40} {
			if picture.RGBAAt(x, y) != empty {
				return false
			}
		}
	}
	return true
}

func TestLongTextsStayInside(t *testing.T) {
	for _, text := range []string{"a", strings.Repeat("w", 300), strings.Repeat("word ", 300), "\u202e\x00\n", "日本語 title", ""} {
		picture := decoded(t, cardimage.Card{Title: text, Publisher: text, Text: text, Facts: text})
		if !marginsAreFree(picture) {
			t.Errorf("%.20q leaves the column", text)
		}
	}
}

func TestTextsAreDrawn(t *testing.T) {
	empty := decoded(t, cardimage.Card{})
	for name, c := range map[string]cardimage.Card{
		"title": {Title: "GitHub"}, "publisher": {Publisher: "by GitHub"}, "text": {Text: "Work with repositories."}, "facts": {Facts: "60 tools"},
	} {
		if bytes.Equal(decoded(t, c).Pix, empty.Pix) {
			t.Errorf("the %s is not drawn", name)
		}
	}
	if !bytes.Equal(decoded(t, cardimage.Card{Title: "日本語"}).Pix, empty.Pix) {
		t.Error("characters without a glyph are drawn")
	}
}

func BenchmarkDraw(b *testing.B) {
	c := cardimage.Card{Title: "A server with a long title on two lines of the picture", Publisher: "by Example", Text: strings.Repeat("Finds and changes orders. ", 9), Facts: "Streamable HTTP · OAuth · 60 tools"}
	for b.Loop() {
		if _, err := cardimage.Draw(c, image.NewGray(image.Rect(0, 0, 180, 180))); err != nil {
			b.Fatal(err)
		}
	}
}
