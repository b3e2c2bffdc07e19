package egress

import (
	"bytes"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

var (
	endOfLine   = []byte("\r\n")
	endOfHeader = []byte("\r\n\r\n")
)

// usualStatus is how the answers begin that usualHeader knows.
const usualStatus = "HTTP/1.1 200"

// usualHeader looks at the beginning of an answer. When that holds the whole
// header of an answer 200 with the media type (lower case, without parameters)
// and a length, and nothing about it is unusual, it returns how long header and
// body are, in bytes; else a negative header, for net/http to decide.
func usualHeader(b []byte, mediaType string) (header, length int) {
	const unusual = -1
	end := bytes.Index(b, endOfHeader)
	if end < 0 {
		return unusual, 0
	}
	status, lines, _ := bytes.Cut(b[:end+len(endOfLine)], endOfLine)
	if len(status) < len(usualStatus) || string(status[:len(usualStatus)]) != usualStatus || len(status) > len(usualStatus) && status[len(usualStatus)] != ' ' || !validValue(status) {
		return unusual, 0
	}
	typed, sized := false, false
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, endOfLine)
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !httpguts.ValidHeaderFieldName(string(line[:colon])) || !validValue(line[colon+1:]) {
			return unusual, 0
		}
		name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
		switch {
		case isField(name, "Content-Type"):
			if typed || !isMediaType(value, mediaType) {
				return unusual, 0
			}
			typed = true
		case isField(name, "Content-Length"):
			n, err := strconv.ParseUint(string(value), 10, 31)
			if sized || err != nil {
				return unusual, 0
			}
			length, sized = int(n), true
		case isField(name, "Connection"), isField(name, "Proxy-Connection"), isField(name, "Transfer-Encoding"),
			isField(name, "Trailer"), isField(name, "Upgrade"), isField(name, "Content-Encoding"):
			return unusual, 0
		}
	}
	if !typed || !sized {
		return unusual, 0
	}
	return end + len(endOfHeader), length
}

// isField compares the name of a field.
func isField(name []byte, want string) bool {
	return len(name) == len(want) && name[0]|0x20 == want[0]|0x20 && bytes.EqualFold(name, []byte(want))
}

// isMediaType reports whether a Content-Type names the media type.
func isMediaType(value []byte, mediaType string) bool {
	if semicolon := bytes.IndexByte(value, ';'); semicolon >= 0 {
		value = bytes.TrimRight(value[:semicolon], " \t")
	}
	return string(value) == mediaType || bytes.EqualFold(value, []byte(mediaType))
}

// validValue reports whether the value of a field holds no control character but
// tabs (RFC 9110, section 5.5).
func validValue[T string | []byte](value T) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
