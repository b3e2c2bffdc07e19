package icons

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// format is an image format.
type format struct {
	matches func(raw []byte) bool
	size    func(raw []byte) (image.Config, error) // from the header, without decoding
	decode  func(ctx context.Context, raw []byte) (image.Image, error)
}

// formats are the accepted formats. SVG is not one of them, because it is a
// document that can contain scripts and links.
var formats = []format{
	{starts("\x89PNG\r\n\x1a\n"), sizeOf(png.DecodeConfig), decodeOf(png.Decode)},
	{starts("\xff\xd8\xff"), sizeOf(jpeg.DecodeConfig), decodeOf(jpeg.Decode)},
	{starts("GIF8"), sizeOf(gif.DecodeConfig), decodeOf(gif.Decode)}, // the first picture
	{isWebP, webPSize, decodeOf(webp.Decode)},
	{starts("\x00\x00\x01\x00"), icoSize, decodeICO},
}

func starts(with string) func([]byte) bool {
	return func(raw []byte) bool { return bytes.HasPrefix(raw, []byte(with)) }
}

// convert returns an image as a PNG of 64×64. It keeps the proportions of the
// image; the rest is transparent. Decoding ends with the context.
func convert(ctx context.Context, raw []byte) ([]byte, error) {
	for _, f := range formats {
		if !f.matches(raw) {
			continue
		}
		if err := checkSize(f.size(raw)); err != nil {
			return nil, err
		}
		img, err := f.decode(ctx, raw)
		switch {
		case ctx.Err() != nil:
			return nil, refuse("decoding it takes longer than %v", decodeTimeout)
		case err != nil:
			return nil, refuse("it is not a valid image")
		}
		return encode(img)
	}
	return nil, refuse("it is not a PNG, JPEG, GIF, WebP or ICO image")
}

// checkSize rejects an image by the size in its header.
func checkSize(size image.Config, err error) error {
	switch {
	case err != nil || size.Width < 1 || size.Height < 1:
		return refuse("it is not a valid image")
	case size.Width > maxSide || size.Height > maxSide:
		return refuse("it has more than %d×%d pixels", maxSide, maxSide)
	}
	return nil
}

func encode(img image.Image) ([]byte, error) {
	b := img.Bounds()
	width, height := side, side
	if b.Dx() > b.Dy() {
		height = max(side*b.Dy()/b.Dx(), 1)
	} else {
		width = max(side*b.Dx()/b.Dy(), 1)
	}
	at := image.Pt((side-width)/2, (side-height)/2)
	icon := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(icon, image.Rectangle{at, at.Add(image.Pt(width, height))}, img, b, draw.Src, nil)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, icon); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// sizeOf adapts a decoder of headers.
func sizeOf(decode func(io.Reader) (image.Config, error)) func([]byte) (image.Config, error) {
	return func(raw []byte) (image.Config, error) { return decode(bytes.NewReader(raw)) }
}

// decodeOf adapts a decoder of images.
func decodeOf(decode func(io.Reader) (image.Image, error)) func(context.Context, []byte) (image.Image, error) {
	return func(ctx context.Context, raw []byte) (image.Image, error) {
		return decode(&input{ctx, bytes.NewReader(raw)})
	}
}

// input reads an image until its context ends. Without it, a small JPEG with
// thousands of scans takes minutes.
type input struct {
	ctx context.Context
	raw *bytes.Reader
}

// Read implements io.Reader.
func (r *input) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.raw.Read(p[:min(len(p), maxRead)])
}
