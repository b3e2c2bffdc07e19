package icons

import (
	"encoding/binary"
	"errors"
	"image"
)

func isWebP(raw []byte) bool {
	return len(raw) >= 12 && string(raw[:4]) == "RIFF" && string(raw[8:12]) == "WEBP"
}

// errWebP is the error of a file without a valid header.
var errWebP = errors.New("invalid WebP file")

// webPSize returns the largest width and the largest height in the headers of a
// WebP file (RFC 9649, section 2). The picture has its own size, which need not
// be that of the canvas.
func webPSize(raw []byte) (image.Config, error) {
	var size image.Config
	for rest := raw[12:]; len(rest) >= 8; {
		kind, length := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:8]))
		if length > int64(len(rest)-8) {
			return size, errWebP
		}
		width, height := 0, 0
		body := rest[8 : 8+length]
		switch {
		case kind == "VP8X" && len(body) >= 10:
			width, height = 1+uint24(body[4:]), 1+uint24(body[7:])
		case kind == "VP8L" && len(body) >= 5 && body[0] == 0x2f:
			bits := binary.LittleEndian.Uint32(body[1:])
			width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		case kind == "VP8 " && len(body) >= 10:
			width, height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
		case kind == "VP8X", kind == "VP8L", kind == "VP8 ":
			return size, errWebP
		}
		size.Width, size.Height = max(size.Width, width), max(size.Height, height)
		rest = rest[8+length:]
		if length%2 == 1 && len(rest) > 0 {
			rest = rest[1:] // padding
		}
	}
	return size, nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
