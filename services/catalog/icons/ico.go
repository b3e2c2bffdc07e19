package icons

import (
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
)

// errICO is the error of a file that can't be read.
var errICO = errors.New("invalid ICO file")

// Sizes in an ICO file, in bytes.
const (
	icoHeader    = 6
	icoEntry     = 16
	bitmapHeader = 40 // BITMAPINFOHEADER
)

// icoPicture returns the largest picture in an ICO file, of equal ones the one
// with the most bits per pixel: a PNG or a bitmap without its file header.
func icoPicture(raw []byte) ([]byte, error) {
	var best []byte
	rank := -1
	if len(raw) < icoHeader {
		return nil, errICO
	}
	for i := range int(binary.LittleEndian.Uint16(raw[4:])) {
		at := icoHeader + i*icoEntry
		if at+icoEntry > len(raw) {
			return nil, errICO
		}
		entry := raw[at : at+icoEntry]
		start, length := int64(binary.LittleEndian.Uint32(entry[12:])), int64(binary.LittleEndian.Uint32(entry[8:]))
		if start+length > int64(len(raw)) || length < bitmapHeader {
			continue
		}
		width := int(entry[0])
		if width == 0 {
			width = 256
		}
		if r := width<<16 | int(binary.LittleEndian.Uint16(entry[6:])); r > rank {
			rank, best = r, raw[start:start+length]
		}
	}
	if best == nil {
		return nil, errICO
	}
	return best, nil
}

// icoSize returns the size of the largest picture.
func icoSize(raw []byte) (image.Config, error) {
	picture, err := icoPicture(raw)
	if err != nil {
		return image.Config{}, err
	}
	if isPNG(picture) {
		return sizeOf(png.DecodeConfig)(picture)
	}
	b, err := newBitmap(picture)
	return image.Config{Width: b.width, Height: b.height}, err
}

func decodeICO(ctx context.Context, raw []byte) (image.Image, error) {
	picture, err := icoPicture(raw)
	if err != nil {
		return nil, err
	}
	if isPNG(picture) {
		return decodeOf(png.Decode)(ctx, picture)
	}
	b, err := newBitmap(picture)
	if err != nil {
		return nil, err
	}
	return b.image()
}

var isPNG = starts("\x89PNG\r\n\x1a\n")

// bitmap is a picture of an ICO file that isn't a PNG: rows of pixels from the
// bottom, and a mask with a bit for each transparent pixel.
type bitmap struct {
	width, height int
	bits          int // per pixel
	palette       []byte
	pixels        []byte // the rest of the picture
}

// newBitmap reads the header of a picture. The height in it includes the mask.
func newBitmap(raw []byte) (bitmap, error) {
	b := bitmap{
		width: int(int32(binary.LittleEndian.Uint32(raw[4:]))), height: int(int32(binary.LittleEndian.Uint32(raw[8:]))) / 2,
		bits: int(binary.LittleEndian.Uint16(raw[14:])),
	}
	compression, colors := binary.LittleEndian.Uint32(raw[16:]), int64(binary.LittleEndian.Uint32(raw[32:]))
	if binary.LittleEndian.Uint32(raw) != bitmapHeader || compression != 0 {
		return b, errICO
	}
	switch b.bits {
	case 1, 4, 8:
		if colors == 0 {
			colors = 1 << b.bits
		}
	case 24, 32:
		colors = 0
	default:
		return b, errICO
	}
	if colors > 256 || bitmapHeader+4*colors > int64(len(raw)) {
		return b, errICO
	}
	b.palette, b.pixels = raw[bitmapHeader:bitmapHeader+4*colors], raw[bitmapHeader+4*colors:]
	return b, nil
}

// stride returns the bytes of a row with the number of bits per pixel, a
// multiple of four.
func (b *bitmap) stride(bits int) int { return (b.width*bits + 31) / 32 * 4 }

// image decodes the picture. Its size must have been checked.
func (b *bitmap) image() (image.Image, error) {
	stride, maskStride := b.stride(b.bits), b.stride(1)
	if len(b.pixels) < stride*b.height {
		return nil, errICO
	}
	var mask []byte
	if rest := b.pixels[stride*b.height:]; b.bits != 32 && len(rest) >= maskStride*b.height {
		mask = rest
	}
	out := image.NewNRGBA(image.Rect(0, 0, b.width, b.height))
	for y := range b.height {
		line := b.height - 1 - y
		row := b.pixels[line*stride : (line+1)*stride]
		for x := range b.width {
			pixel, err := b.pixel(row, x)
			if err != nil {
				return nil, err
			}
			if mask != nil && mask[line*maskStride+x/8]>>(7-x%8)&1 == 1 {
				pixel.A = 0
			}
			out.SetNRGBA(x, y, pixel)
		}
	}
	return out, nil
}

// pixel returns a pixel of a row.
func (b *bitmap) pixel(row []byte, x int) (color.NRGBA, error) {
	switch b.bits {
	case 32:
		p := row[4*x:]
		return color.NRGBA{p[2], p[1], p[0], p[3]}, nil
	case 24:
		p := row[3*x:]
		return color.NRGBA{p[2], p[1], p[0], 0xff}, nil
	}
	perByte := 8 / b.bits
	i := int(row[x/perByte]>>(8-b.bits*(x%perByte+1))) & (1<<b.bits - 1)
	if 4*i+4 > len(b.palette) {
		return color.NRGBA{}, errICO
	}
	p := b.palette[4*i:]
	return color.NRGBA{p[2], p[1], p[0], 0xff}, nil
}
