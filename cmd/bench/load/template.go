package load

import "bytes"

// template is an encoded message whose id and text can be changed in place.
type template struct {
	raw    []byte
	idAt   int
	textAt int
}

// newTemplate returns raw as a template. found is false unless raw contains the id
// and the text exactly once. The template retains raw.
func newTemplate(raw, id, text []byte) (t template, found bool) {
	if len(id) != idLength || len(text) != textLength || bytes.Count(raw, id) != 1 || bytes.Count(raw, text) != 1 {
		return template{}, false
	}
	return template{raw: raw, idAt: bytes.Index(raw, id), textAt: bytes.Index(raw, text)}, true
}

// number sets the id and the text of the n-th call, counted from 0. Only the first
// digits of the text change; they always differ from the id. The end of the text
// remains the client's number.
func (t *template) number(n int) {
	putDigits(t.raw[t.idAt:t.idAt+idLength], firstID+n)
	putDigits(t.raw[t.textAt:t.textAt+idLength], lastID-n)
}

// slots returns the current id and text. They alias the message.
func (t *template) slots() (id, text []byte) {
	return t.raw[t.idAt : t.idAt+idLength], t.raw[t.textAt : t.textAt+textLength]
}

// copyFrom copies the id and the text of another template.
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
