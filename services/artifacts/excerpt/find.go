package excerpt

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/artifacts"
	"mcpgateway/services/artifacts/pages"
	"mcpgateway/services/rawjson"
)

const (
	maxMatches   = 20  // shown
	excerptBytes = 100 // on each side of a match
)

// find returns the result of a search for a text: the number of matches, and
// excerpts with the offsets to read at. The case of ASCII letters is ignored.
func find(a *artifacts.Artifact, tool, text string) []byte {
	folded := lower(a.Data)
	needle := lower([]byte(text))
	paged := isPaged(a)
	if paged { // the text is searched as it is written in JSON
		quoted := rawjson.Quote(text)
		needle = lower(quoted[1 : len(quoted)-1])
	}
	count := bytes.Count(folded, needle)
	if paged && count == 0 {
		if escaped := lower(asciiOnly(text)); !bytes.Equal(escaped, needle) {
			needle = escaped
			count = bytes.Count(folded, needle)
		}
	}
	var b strings.Builder
	if count == 0 {
		fmt.Fprintf(&b, "No match for %s in %d bytes.", rawjson.Quote(text), len(a.Data))
		return append(append([]byte(`{"content":[`), textBlock(b.String())...), "]}"...)
	}
	fmt.Fprintf(&b, "%d matches", count)
	if count == 1 {
		b.Reset()
		b.WriteString("1 match")
	}
	if count > maxMatches {
		fmt.Fprintf(&b, "; the first %d are shown, search for a longer text to see others", maxMatches)
	}
	fmt.Fprintf(&b, `. Read at one: %s {"id":%s,"offset":…}`, tool, rawjson.Quote(a.Name))
	for i, at := 0, 0; i < min(count, maxMatches); i++ {
		at += bytes.Index(folded[at:], needle)
		place, pointer := at, ""
		if paged {
			place, pointer = pages.Around(a.Data, at)
		}
		fmt.Fprintf(&b, "\noffset %d", place)
		if pointer != "" {
			b.WriteString(", " + pointer)
		}
		fmt.Fprintf(&b, ": %s", excerpt(a.Data, at, at+len(needle)))
		at += len(needle)
	}
	return append(append([]byte(`{"content":[`), textBlock(b.String())...), "]}"...)
}

// lower returns a copy with ASCII letters in lower case.
func lower(raw []byte) []byte {
	out := make([]byte, len(raw))
	for i, c := range raw {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// asciiOnly returns a text as servers write it in JSON that has only ASCII.
func asciiOnly(text string) []byte {
	quoted := rawjson.Quote(text)
	var b []byte
	for _, r := range string(quoted[1 : len(quoted)-1]) {
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b
}

// excerpt returns the text around a match in one line.
func excerpt(raw []byte, from, to int) string {
	start, end := max(0, from-excerptBytes), min(len(raw), to+excerptBytes)
	for start > 0 && !utf8.RuneStart(raw[start]) {
		start--
	}
	for end < len(raw) && !utf8.RuneStart(raw[end]) {
		end++
	}
	text := strings.Join(strings.Fields(string(raw[start:end])), " ")
	if start > 0 {
		text = "…" + text
	}
	if end < len(raw) {
		text += "…"
	}
	return text
}
