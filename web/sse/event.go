package sse

import (
	"bytes"
	"slices"
)

const streamComment = ": \n\n"

// appendEvent appends one event. Line breaks in the data, which would end it,
// become spaces: in JSON they only occur between tokens.
func appendEvent(dst []byte, event string, data []byte) []byte {
	dst = appendName(slices.Grow(dst, len(event)+len(data)+20), event)
	dst = append(dst, "data: "...)
	start := len(dst)
	dst = append(dst, data...)
	withoutLineEnds(dst[start:])
	return append(dst, '\n', '\n')
}

// appendName appends the line with the name of an event, if it has one.
func appendName(dst []byte, event string) []byte {
	if event == "" {
		return dst
	}
	return append(append(append(dst, "event: "...), event...), '\n')
}

// eventFrames returns the frames of one event with the lines in head, whose data
// are the parts. Parts that are too long for one write are separate frames.
func eventFrames(head []byte, parts [][]byte) (frames [][]byte) {
	size := len(head) + len("data: \n\n")
	for _, part := range parts {
		if len(part) < streamWriteSize {
			size += len(part)
		}
	}
	frame := append(append(make([]byte, 0, size), head...), "data: "...)
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

// sizeOf returns the total size of frames.
func sizeOf(frames [][]byte) (size int) {
	for _, frame := range frames {
		size += len(frame)
	}
	return size
}
