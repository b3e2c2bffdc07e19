// Package cardimage draws the pictures that other sites show next to links to
// servers of the catalog.
package cardimage

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Size of a picture in pixels, as sites expect it (Open Graph protocol).
const (
	Width  = 1200
	Height = 630
)

// Card is the content of a picture. Characters that its fonts lack are left out.
type Card struct {
	Title     string
	Publisher string
	Text      string
	Facts     string
}

// The layout in pixels, and the colors of the pages.
const (
	margin   = 80
	markSize = 64
	bar      = 12
)

var (
	background = color.RGBA{0xfb, 0xfb, 0xfa, 0xff}
	ink        = color.RGBA{0x17, 0x1c, 0x1a, 0xff}
	muted      = color.RGBA{0x52, 0x5d, 0x58, 0xff}
	brand      = color.RGBA{0x0b, 0x6e, 0x56, 0xff}
)

// paragraph is a text with its place, as the baseline of its first line.
type paragraph struct {
	text   string
	bold   bool
	size   float64
	color  color.Color
	y      int
	lines  int // maximum number of lines
	height int // of a line
}

// fonts are the parsed fonts. Parsing succeeds for the embedded ones.
var fonts = sync.OnceValues(func() ([2]*opentype.Font, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return [2]*opentype.Font{}, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	return [2]*opentype.Font{regular, bold}, err
})

// Draw returns the picture of a card as PNG. mark is the product's sign.
func Draw(c Card, mark image.Image) ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, Width, Height))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	draw.Draw(picture, image.Rect(0, 0, Width, bar), image.NewUniform(brand), image.Point{}, draw.Src)
	draw.CatmullRom.Scale(picture, image.Rect(margin, Height-margin-markSize+bar, margin+markSize, Height-margin+bar), mark, mark.Bounds(), draw.Over, nil)
	y := 150
	for _, p := range []paragraph{
		{text: c.Title, bold: true, size: 68, color: ink, lines: 2, height: 78},
		{text: c.Publisher, size: 34, color: brand, lines: 1, height: 64},
		{text: c.Text, size: 34, color: muted, lines: 3, height: 46},
	} {
		p.y = y
		lines, err := p.draw(picture, margin, Width-2*margin)
		if err != nil {
			return nil, err
		}
		y += lines * p.height
	}
	foot := paragraph{text: c.Facts, size: 28, color: muted, y: Height - margin - markSize/2 + bar + 10, lines: 1, height: 40}
	if _, err := foot.draw(picture, margin+markSize+24, Width-2*margin-markSize-24); err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&encoded, picture)
	return encoded.Bytes(), err
}

// draw draws the paragraph at x, at most width wide, and returns its lines.
func (p paragraph) draw(picture *image.RGBA, x, width int) (int, error) {
	both, err := fonts()
	if err != nil {
		return 0, fmt.Errorf("parse fonts: %w", err)
	}
	f := both[0]
	if p.bold {
		f = both[1]
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: p.size, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return 0, fmt.Errorf("create font face: %w", err)
	}
	defer func() { _ = face.Close() }() // never fails
	lines := wrap(face, drawable(f, p.text), fixed.I(width), p.lines)
	for i, text := range lines {
		d := font.Drawer{Dst: picture, Src: image.NewUniform(p.color), Face: face, Dot: fixed.P(x, p.y+i*p.height)}
		d.DrawString(text)
	}
	return len(lines), nil
}

// drawable returns the text without the characters that the font lacks.
func drawable(f *opentype.Font, text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if at, err := f.GlyphIndex(nil, r); err != nil || at == 0 {
			return ' '
		}
		return r
	}, text)), " ")
}

// wrap returns a text in at most n lines of a width. The last one ends with "…"
// if the text is longer.
func wrap(face font.Face, text string, width fixed.Int26_6, n int) []string {
	var lines []string
	words := strings.Fields(text)
	for len(words) > 0 && len(lines) < n {
		used := 1
		for used < len(words) && font.MeasureString(face, strings.Join(words[:used+1], " ")) <= width {
			used++
		}
		line, rest := strings.Join(words[:used], " "), words[used:]
		if more := len(lines) == n-1 && len(rest) > 0; more || font.MeasureString(face, line) > width {
			line = shorten(face, line, width)
		}
		lines, words = append(lines, line), rest
	}
	return lines
}

// shorten returns the beginning of a line and "…", within a width.
func shorten(face font.Face, line string, width fixed.Int26_6) string {
	r := []rune(line)
	for len(r) > 0 && font.MeasureString(face, string(r)+"…") > width {
		r = r[:len(r)-1]
	}
	return strings.TrimRight(string(r), " ,.;:") + "…"
}
