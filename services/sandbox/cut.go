package sandbox

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// truncationMark marks where JSON was truncated.
const truncationMark = "… cut"

// CutJSON returns valid JSON of at most limit bytes that starts like raw. It
// drops what doesn't fit from the innermost array or object and ends that with
// a mark.
func CutJSON(raw []byte, limit int) []byte {
	var out bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	to := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	before := int64(0)
	for {
		token, err := in.ReadToken()
		if err != nil {
			break
		}
		size := in.InputOffset() - before
		before = in.InputOffset()
		closes := token.Kind() == '}' || token.Kind() == ']'
		room := limit - int(to.OutputOffset()) - to.StackDepth() - 4*len(truncationMark)
		if !closes && int(size) > room {
			cutHere(to, token, room)
			break
		}
		if err := to.WriteToken(token); err != nil {
			break
		}
	}
	cut := bytes.TrimSpace(out.Bytes())
	if len(cut) == 0 || len(cut) > limit || !json.Valid(cut) {
		// Nested too deeply for the decoder: return its text as a string.
		quoted, err := json.Marshal(ClipText(string(raw[:min(len(raw), limit/8)]), limit/8))
		if err != nil {
			return []byte("null")
		}
		return quoted
	}
	return cut
}

// cutHere ends the output in place of a token that doesn't fit.
func cutHere(to *jsontext.Encoder, token jsontext.Token, room int) {
	kind, n := to.StackIndex(to.StackDepth())
	expectName := kind == '{' && n%2 == 0
	mark := jsontext.String(truncationMark)
	write := func(t jsontext.Token) { _ = to.WriteToken(t) } // errors show up as invalid output
	switch {
	case expectName:
		write(mark)
		write(mark)
	case token.Kind() == '"' && room > 0:
		// Escaping can expand one byte to six.
		write(jsontext.String(ClipText(token.String(), room/6) + truncationMark))
	default:
		write(mark)
	}
	for to.StackDepth() > 0 {
		end := jsontext.EndObject
		if kind, _ := to.StackIndex(to.StackDepth()); kind == '[' {
			end = jsontext.EndArray
		}
		if to.WriteToken(end) != nil {
			return
		}
	}
}

// ClipText truncates a text to at most n bytes, at a character boundary.
func ClipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
