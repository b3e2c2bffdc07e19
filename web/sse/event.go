package sse

import (
	"bytes"
	"slices"
)

const streamComment = ": \n\n"

// appendEvent appends one event. Line breaks in the data, which would end it,
// become spaces: in JSON they only occur between tokens.
func appendEvent(dst []byte, event string, data []byte) []byte {
	dst = slices.Grow(dst, len(event)+len(data)+20)
	if event != "" {
		dst = append(append(append(dst, "event: "...), event...), '\n')
	}
	dst = append(dst, "data: "...)
	start := len(dst)
	dst = append(dst, data...)
	withoutLineEnds(dst[start:])
	return append(dst, '\n', '\n')
}

// eventFrames returns the frames of one event, whose data are the parts. Parts
// that are too long for one write are separate frames.
func eventFrames(event string, parts [][]byte) (frames [][]byte) {
	size := len(event) + len("event: \ndata: \n\n")
	for _, part := range parts {
		if len(part) < streamWriteSize {
			size += len(part)
		}
	}
	frame := make([]byte, 0, size)
	if event != "" {
		frame = append(append(append(frame, "event: "...), event...), '\n')
	}
	frame = append(frame, "data: "...)
	for _, part := range parts {
		if len(part) < streamWriteSize {
			start := len(frame)
			frame = append(frame, part...)
			withoutLineEnds(frame[start:])
			continue
		}
		if bytes.ContainsAny(part, "\r\n") {
			part = bytes.Clone(part)
			withoutLineEnds(part)
		}
		frames, frame = append(frames, frame, part), nil
	}
	return append(frames, append(frame, "\n\n"...))
}

// withoutLineEnds replaces line breaks, which would end the data, with spaces.
// In JSON they only occur between tokens.
func withoutLineEnds(data []byte) {
	for _, lineEnd := range []byte("\r\n") {
		rest := data
		for i := bytes.IndexByte(rest, lineEnd); i >= 0; i = bytes.IndexByte(rest, lineEnd) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}
