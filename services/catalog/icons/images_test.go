package icons_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
)

// red is the color of the test images.
var red = color.NRGBA{R: 0xf0, G: 0x10, B: 0x20, A: 0xff}

func picture(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := 0; i < len(img.Pix); i += 4 {
		copy(img.Pix[i:], []byte{red.R, red.G, red.B, red.A})
	}
	return img
}

func encodePNG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, picture(width, height)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture(width, height), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeGIF(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, picture(width, height), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bits writes values from the lowest bit on.
type bits struct {
	out  []byte
	used int
}

func (b *bits) write(value uint32, n int) {
	for i := range n {
		if b.used%8 == 0 {
			b.out = append(b.out, 0)
		}
		b.out[b.used/8] |= byte(value>>i&1) << (b.used % 8)
		b.used++
	}
}

// lossless returns the VP8L data of a red picture (RFC 9649, section 3): each
// color has one code of no bits, so that any size has the same length.
func lossless(width, height int) []byte {
	b := &bits{}
	b.write(0x2f, 8)
	b.write(uint32(width-1), 14)
	b.write(uint32(height-1), 14)
	b.write(1, 1) // has alpha
	b.write(0, 3+3)
	for _, symbol := range []byte{red.G, red.R, red.B, red.A, 0} {
		b.write(0b101, 3) // a simple code with one symbol of 8 bits
		b.write(uint32(symbol), 8)
	}
	b.write(0, 32)
	return b.out
}

type chunk struct {
	kind string
	data []byte
}

// riff returns a WebP file.
func riff(chunks ...chunk) []byte {
	body := []byte("WEBP")
	for _, c := range chunks {
		body = append(body, c.kind...)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(c.data)))
		body = append(body, c.data...)
		if len(c.data)%2 == 1 {
			body = append(body, 0)
		}
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func webP(width, height int) []byte { return riff(chunk{"VP8L", lossless(width, height)}) }

// canvas returns the VP8X data of a canvas with alpha.
func canvas(width, height int) []byte {
	w, h := width-1, height-1
	return []byte{0x10, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)}
}

// ico returns an ICO file with pictures of a width and bits per pixel.
func ico(pictures ...icoEntry) []byte {
	out := binary.LittleEndian.AppendUint16([]byte{0, 0, 1, 0}, uint16(len(pictures)))
	at := len(out) + 16*len(pictures)
	for _, p := range pictures {
		out = append(out, byte(p.width), byte(p.width), 0, 0, 1, 0)
		out = binary.LittleEndian.AppendUint16(out, uint16(p.bits))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p.data)))
		out = binary.LittleEndian.AppendUint32(out, uint32(at))
		at += len(p.data)
	}
	for _, p := range pictures {
		out = append(out, p.data...)
	}
	return out
}

type icoEntry struct {
	width, bits int
	data        []byte
}

// bitmap returns a red picture of an ICO file. Its mask makes the left half
// transparent unless it has alpha.
func bitmap(width, height, depth int) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 40)
	out = binary.LittleEndian.AppendUint32(out, uint32(width))
	out = binary.LittleEndian.AppendUint32(out, uint32(2*height))
	out = binary.LittleEndian.AppendUint16(out, 1)
	out = binary.LittleEndian.AppendUint16(out, uint16(depth))
	out = append(out, make([]byte, 24)...)
	pixel := []byte{red.B, red.G, red.R, 0xff}
	if depth <= 8 {
		palette := make([]byte, 4<<depth)
		copy(palette[len(palette)-4:], pixel) // the last color is red
		out = append(out, palette...)
	}
	row := make([]byte, (width*depth+31)/32*4)
	switch depth {
	case 24, 32:
		for x := range width {
			copy(row[x*depth/8:], pixel[:depth/8])
		}
	default:
		for i := range row {
			row[i] = 0xff
		}
	}
	for range height {
		out = append(out, row...)
	}
	mask := make([]byte, (width+31)/32*4)
	for x := range width / 2 {
		mask[x/8] |= 0x80 >> (x % 8)
	}
	for range height {
		out = append(out, mask...)
	}
	return out
}

// endlessJPEG returns a JPEG of 2048×2048 that fills 256 KiB with scans without
// any content.
func endlessJPEG() []byte {
	out := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	for range 64 {
		out = append(out, 1)
	}
	out = append(out, 0xff, 0xc2, 0, 11, 8, 8, 0, 8, 0, 1, 1, 0x11, 0) // progressive, one component
	// One code of one bit: a run of up to 32,767 blocks without content.
	out = append(out, 0xff, 0xc4, 0, 20, 0x10, 1)
	out = append(out, make([]byte, 15)...)
	out = append(out, 0xe0)
	// Each scan has three runs: 0, 14 bits of the length.
	run := []byte{0xff, 0xda, 0, 8, 1, 1, 0x00, 1, 63, 0, 0b01111111, 0xfe, 0b11111111, 0, 0b11111100, 0b00000000, 0b00000011}
	for len(out)+len(run)+2 <= 256<<10 {
		out = append(out, run...)
	}
	return append(out, 0xff, 0xd9)
}
