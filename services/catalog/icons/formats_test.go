package icons_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/catalog/icons"
)

// decode returns an icon, which must be a PNG of 64×64.
func decode(t *testing.T, icon []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != image.Rect(0, 0, 64, 64) {
		t.Fatalf("the icon has the bounds %v", img.Bounds())
	}
	return img
}

// isRed reports whether a pixel has about the color of the test images.
func isRed(c color.Color) bool {
	p := color.NRGBAModel.Convert(c).(color.NRGBA)
	return p.A == 0xff && p.R > 0xd0 && p.G < 0x40 && p.B < 0x50
}

func alpha(c color.Color) uint8 { return color.NRGBAModel.Convert(c).(color.NRGBA).A }

func TestFormats(t *testing.T) {
	for name, raw := range map[string][]byte{
		"png":               encodePNG(t, 100, 100),
		"png of one pixel":  encodePNG(t, 1, 1),
		"jpeg":              encodeJPEG(t, 100, 100),
		"gif":               encodeGIF(t, 100, 100),
		"webp":              webP(100, 100),
		"webp with canvas":  riff(chunk{"VP8X", canvas(100, 100)}, chunk{"VP8L", lossless(100, 100)}),
		"ico with png":      ico(icoEntry{16, 32, bitmap(16, 16, 1)}, icoEntry{0, 32, encodePNG(t, 256, 256)}),
		"ico with 32 bits":  ico(icoEntry{48, 32, bitmap(48, 48, 32)}, icoEntry{16, 1, bitmap(16, 16, 1)}),
		"ico of best depth": ico(icoEntry{16, 1, make([]byte, 40)}, icoEntry{16, 32, bitmap(16, 16, 32)}),
	} {
		t.Run(name, func(t *testing.T) {
			icon, err := icons.Convert(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			img := decode(t, icon)
			for _, at := range []image.Point{{1, 1}, {32, 32}, {62, 62}} {
				if !isRed(img.At(at.X, at.Y)) {
					t.Errorf("the pixel at %v is %v", at, img.At(at.X, at.Y))
				}
			}
		})
	}
	for _, depth := range []int{1, 4, 8, 24} {
		icon, err := icons.Convert(t.Context(), ico(icoEntry{64, depth, bitmap(64, 64, depth)}))
		if err != nil {
			t.Fatalf("%d bits: %v", depth, err)
		}
		if img := decode(t, icon); !isRed(img.At(48, 32)) || alpha(img.At(16, 32)) != 0 {
			t.Errorf("%d bits: the pixels are %v and %v", depth, img.At(48, 32), img.At(16, 32))
		}
	}
}

func TestProportions(t *testing.T) {
	for _, tt := range []struct {
		width, height int
		in, out       image.Point
	}{
		{200, 100, image.Pt(32, 32), image.Pt(32, 10)},
		{100, 200, image.Pt(32, 32), image.Pt(10, 32)},
		{2048, 1, image.Pt(32, 31), image.Pt(32, 20)},
		{1, 2048, image.Pt(31, 32), image.Pt(20, 32)},
	} {
		icon, err := icons.Convert(t.Context(), encodePNG(t, tt.width, tt.height))
		if err != nil {
			t.Fatal(err)
		}
		img := decode(t, icon)
		if !isRed(img.At(tt.in.X, tt.in.Y)) || alpha(img.At(tt.out.X, tt.out.Y)) != 0 {
			t.Errorf("%d×%d: the pixels are %v and %v", tt.width, tt.height, img.At(tt.in.X, tt.in.Y), img.At(tt.out.X, tt.out.Y))
		}
	}
}

func TestSizes(t *testing.T) {
	const most = "it has more than 2048×2048 pixels"
	for _, tt := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"png of 2047", encodePNG(t, 2047, 1), ""},
		{"png of 2048", encodePNG(t, 2048, 2), ""},
		{"png of 2049", encodePNG(t, 2049, 1), most},
		{"high png", encodePNG(t, 1, 2049), most},
		{"jpeg of 2049", encodeJPEG(t, 2049, 1), most},
		{"gif of 2049", encodeGIF(t, 1, 2049), most},
		{"webp of 2048", webP(2048, 2048), ""},
		{"webp of 2049", webP(2049, 1), most},
		{"webp bomb", webP(16384, 16384), most},
		{"webp bomb behind a small canvas", riff(chunk{"VP8X", canvas(64, 64)}, chunk{"VP8L", lossless(16384, 16384)}), most},
		{"webp with a large canvas", riff(chunk{"VP8X", canvas(1<<24, 1)}, chunk{"VP8L", lossless(8, 8)}), most},
		{"lossy webp bomb", riff(chunk{"VP8 ", []byte{0x10, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f}}), most},
		{"ico with a large png", ico(icoEntry{0, 32, encodePNG(t, 2049, 1)}), most},
		{"ico with a large bitmap", ico(icoEntry{0, 32, bitmap(2049, 1, 32)}), most},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := icons.Convert(t.Context(), tt.raw)
			if got := text(err); got != tt.want {
				t.Errorf("Convert = %q, want %q", got, tt.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestOtherContent(t *testing.T) {
	whole, negative := encodePNG(t, 100, 100), bitmap(16, 16, 32)
	copy(negative[4:], bytes.Repeat([]byte{0xff}, 8))
	for name, raw := range map[string][]byte{
		"nothing":                nil,
		"svg":                    []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`),
		"svg with a declaration": []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`),
		"html":                   []byte("<!doctype html><title>Not found</title>"),
		"bmp":                    append([]byte("BM"), bitmap(8, 8, 24)...),
		"half a png":             whole[:len(whole)/2],
		"a png header":           whole[:33],
		"a gif header":           encodeGIF(t, 9, 9)[:20],
		"a jpeg header":          encodeJPEG(t, 9, 9)[:30],
		"webp without a picture": riff(),
		"webp with half a chunk": webP(9, 9)[:18],
		"webp of another length": riff(chunk{"VP8X", canvas(9, 9)[:4]}),
		"ico without a picture":  ico(),
		"ico with half an entry": ico(icoEntry{16, 32, nil})[:12],
		"ico beyond its end":     ico(icoEntry{16, 32, bitmap(16, 16, 32)})[:200],
		"ico of no width":        ico(icoEntry{16, 32, bitmap(0, 16, 32)}),
		"ico of negative size":   ico(icoEntry{16, 32, negative}),
		"ico of unknown depth":   ico(icoEntry{16, 16, bitmap(16, 16, 16)}),
		"ico without pixels":     ico(icoEntry{16, 8, bitmap(16, 16, 8)[:40+4<<8]}),
	} {
		t.Run(name, func(t *testing.T) {
			icon, err := icons.Convert(t.Context(), raw)
			if err == nil || !strings.HasPrefix(err.Error(), "it is not a") || strings.Contains(err.Error(), "svg") {
				t.Errorf("Convert = %d bytes, %v", len(icon), err)
			}
		})
	}
}

func TestDecodingEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := icons.Convert(ctx, endlessJPEG())
	if took := time.Since(started); took > 5*time.Second || text(err) != "decoding it takes longer than 2s" {
		t.Errorf("Convert = %v after %v", err, took)
	}
}

// FuzzConvert finds images that make the gateway panic or produce no icon.
func FuzzConvert(f *testing.F) {
	for _, raw := range [][]byte{
		encodePNG(f, 3, 2), encodeJPEG(f, 3, 2), encodeGIF(f, 3, 2), webP(3, 2), riff(chunk{"VP8X", canvas(3, 2)}, chunk{"VP8L", lossless(3, 2)}),
		ico(icoEntry{16, 32, bitmap(16, 16, 32)}, icoEntry{16, 8, bitmap(16, 16, 8)}), ico(icoEntry{3, 32, encodePNG(f, 3, 2)}), ico(icoEntry{16, 1, bitmap(16, 16, 1)}),
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		icon, err := icons.Convert(ctx, raw)
		if err == nil {
			decode(t, icon)
		} else if icon != nil {
			t.Errorf("Convert = %d bytes, %v", len(icon), err)
		}
	})
}
