package load

import "bytes"

// template is a message whose id and text are changed in place.
type template struct {
	raw    []byte
	idAt   int
	textAt int
}

// newTemplate returns the template that raw is, or none when the id or the
// text does not stand in it exactly once. It keeps raw.
func newTemplate(raw, id, text []byte) (t template, found bool) {
	if len(id) != idLength || len(text) != textLength || bytes.Count(raw, id) != 1 || bytes.Count(raw, text) != 1 {
		return template{}, false
	}
	return template{raw: raw, idAt: bytes.Index(raw, id), textAt: bytes.Index(raw, text)}, true
}

// number gives the message the id and the text of the n-th call, counted from
// 0. The text ends as it was, with the client's number, and begins with digits
// that are never those of the id.
func (t *template) number(n int) {
	putDigits(t.raw[t.idAt:t.idAt+idLength], firstID+n)
	putDigits(t.raw[t.textAt:t.textAt+idLength], lastID-n)
}

// slots returns the id and the text as they stand.
func (t *template) slots() (id, text []byte) {
	return t.raw[t.idAt : t.idAt+idLength], t.raw[t.textAt : t.textAt+textLength]
}

// copyFrom takes over the id and the text of another message.
func (t *template) copyFrom(other *template) {
	id, text := other.slots()
	copy(t.raw[t.idAt:], id)
	copy(t.raw[t.textAt:], text)
}

// putDigits writes n with leading zeros.
func putDigits(dst []byte, n int) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}
