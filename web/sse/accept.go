package sse

import "strings"

// AcceptsEventStream parses an Accept header (RFC 9110, section 12.5.1). named
// is true if it contains text/event-stream, and only if it accepts nothing
// else.
func AcceptsEventStream(accept string) (named, only bool) {
	only = true
	for rest := accept; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, ",")
		mime, parameters, _ := strings.Cut(part, ";")
		switch mime = strings.TrimSpace(mime); {
		case mime == "" || refusedByWeight(parameters):
		case strings.EqualFold(mime, MIMEEventStream):
			named = true
		default:
			only = false
		}
	}
	return named, only && named
}

// refusedByWeight reports whether the parameters have the weight 0.
func refusedByWeight(parameters string) bool {
	for rest := parameters; rest != ""; {
		var p string
		p, rest, _ = strings.Cut(rest, ";")
		if name, value, _ := strings.Cut(strings.TrimSpace(p), "="); strings.EqualFold(strings.TrimSpace(name), "q") {
			return strings.Trim(strings.TrimSpace(value), "0.") == ""
		}
	}
	return false
}
