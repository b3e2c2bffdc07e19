package pages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mcpgateway/services/artifacts/pages"
	"mcpgateway/services/fault"
)

// tester is a test or a check of rapid.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// decode returns a JSON value with its numbers as they are written.
func decode(t tester, raw string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%.200q is not valid JSON: %v", raw, err)
	}
	return v
}

// add adds a page to the value that earlier pages have, as a client does.
func add(t tester, whole, page any, at []string, piece bool) any {
	t.Helper()
	if len(at) == 0 {
		if text, ok := whole.(string); ok && piece {
			return text + page.(string)
		}
		if whole != nil {
			t.Fatalf("a page has %v again", whole)
		}
		return page
	}
	switch page := page.(type) {
	case []any:
		all, _ := whole.([]any)
		index, err := strconv.Atoi(at[0])
		if err != nil || index > len(all) || index < len(all)-1 {
			t.Fatalf("a page continues at %s after %d elements", at[0], len(all))
		}
		var before any
		if index < len(all) {
			before, all = all[index], all[:index]
		}
		all = append(all, add(t, before, page[0], at[1:], piece))
		return append(all, page[1:]...)
	case map[string]any:
		all, _ := whole.(map[string]any)
		if all == nil {
			all = map[string]any{}
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(at[0])
		for key, value := range page {
			if key == name {
				value = add(t, all[key], value, at[1:], piece)
			} else if _, twice := all[key]; twice {
				t.Fatalf("%q is in two pages", key)
			}
			all[key] = value
		}
		return all
	}
	t.Fatalf("the page %v has no %v", page, at)
	return nil
}

// readAll reads all pages of JSON and returns the value that they have together,
// and the texts of the pages.
func readAll(t tester, raw string, limit func() int) (whole any, texts []string) {
	t.Helper()
	for offset := 0; offset >= 0; {
		p, err := pages.JSON([]byte(raw), offset, limit())
		if err != nil {
			t.Fatalf("offset %d of %.300q: %v", offset, raw, err)
		}
		if p.Next >= 0 && p.Next <= offset {
			t.Fatalf("offset %d is followed by %d", offset, p.Next)
		}
		var at []string
		if p.At != "" {
			at = strings.Split(p.At, "/")[1:]
		}
		if len(texts) > 0 && p.At == "" {
			t.Fatalf("offset %d begins nowhere", offset)
		}
		if (p.Next >= 0) != (len(p.Left) > 0) && !p.Piece {
			t.Fatalf("offset %d: next %d, left %v", offset, p.Next, p.Left)
		}
		whole = add(t, whole, decode(t, p.Text), at, p.Piece)
		texts, offset = append(texts, p.Text), p.Next
	}
	return whole, texts
}

// drawJSON returns a JSON value. White space and escapes vary.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	text := func() string {
		if rapid.IntRange(0, 400).Draw(t, "long") == 0 {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "😀", "\\", "\"", "\x01"}).Draw(t, "repeated"), rapid.IntRange(1000, 20_000).Draw(t, "length"))
		}
		return rapid.StringN(0, 12, -1).Filter(utf8.ValidString).Draw(t, "text")
	}
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "ascii") {
			return ascii(string(b))
		}
		return string(b)
	}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind = rapid.IntRange(4, 5).Draw(t, "container")
	}
	if depth > 3 && kind > 3 {
		kind = 1
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	case 1:
		return rapid.SampledFrom([]string{"0", "-1.50", "1e-7", "123456789012345678901234567890"}).Draw(t, "number")
	case 2, 3:
		return quote(text())
	}
	var b strings.Builder
	n := rapid.IntRange(0, 8).Draw(t, "children")
	b.WriteString(string("[{"[kind-4]) + space.Draw(t, "space"))
	for i := range n {
		if i > 0 {
			b.WriteString(space.Draw(t, "space") + "," + space.Draw(t, "space"))
		}
		if kind == 5 {
			b.WriteString(quote(fmt.Sprint(rapid.SampledFrom([]string{"", "a/b~", "é\"", "key"}).Draw(t, "name"), i)) + space.Draw(t, "space") + ":" + space.Draw(t, "space"))
		}
		b.WriteString(drawJSON(t, depth+1))
	}
	b.WriteString(space.Draw(t, "space") + string("]}"[kind-4]))
	return b.String()
}

// ascii escapes all other characters of a quoted text.
func ascii(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

func TestPagesOfJSONHaveAllValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawJSON(t, 0)
		if !pages.IsPageable([]byte(raw)) {
			t.Fatalf("%.300q is not pageable", raw)
		}
		want, least := decode(t, raw), 1
		if len(raw) > 10_000 {
			least = 2000
		}
		whole, _ := readAll(t, raw, func() int { return rapid.IntRange(least, 3000).Draw(t, "limit") })
		if d := cmp.Diff(want, whole); d != "" {
			t.Fatalf("%.300q (-want +got):\n%.2000s", raw, d)
		}
		limit := rapid.IntRange(2, 3000).Draw(t, "head")
		head := pages.HeadOfJSON([]byte(raw), limit)
		decode(t, head.Text)
		if len(head.Text) > limit {
			t.Fatalf("a head of %d bytes, limit %d", len(head.Text), limit)
		}
		if head.Next < 0 {
			return
		}
		if p, err := pages.JSON([]byte(raw), head.Next, max(limit, least)); err != nil || p.Offset != head.Next {
			t.Fatalf("the head is followed by %d: %v", head.Next, err)
		}
		// The head and the pages after it have everything too.
		whole = nil
		if head.Text != "{}" && head.Text != "[]" {
			whole = decode(t, head.Text)
		}
		for offset := head.Next; offset >= 0; {
			p, err := pages.JSON([]byte(raw), offset, max(500, least))
			if err != nil {
				t.Fatal(err)
			}
			whole = add(t, whole, decode(t, p.Text), strings.Split(p.At, "/")[1:], p.Piece)
			offset = p.Next
		}
		if d := cmp.Diff(want, whole); d != "" {
			t.Fatalf("%.300q from its head (-want +got):\n%.2000s", raw, d)
		}
	})
}

func FuzzPages(f *testing.F) {
	for _, raw := range []string{`{"items":[{"a":1},{"b":"` + strings.Repeat("x", 300) + `"}],"total":2}`, `[[[]],{"a":{"":[0]}}]`, `["\ud83d\ude00\\"]`} {
		f.Add(raw, 7)
	}
	f.Fuzz(func(t *testing.T, raw string, limit int) {
		if limit < 1 || limit > pages.MaxLimit || !json.Valid([]byte(raw)) || !utf8.ValidString(raw) || !pages.IsPageable([]byte(raw)) {
			return
		}
		size := 0
		for offset, n := 0, 0; offset >= 0; n++ {
			p, err := pages.JSON([]byte(raw), offset, limit)
			if err != nil || !json.Valid([]byte(p.Text)) || p.Next >= 0 && p.Next <= offset {
				t.Fatalf("offset %d: %+v, %v", offset, p, err)
			}
			size, offset = size+len(p.Text), p.Next
		}
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(raw)) == nil && size < compact.Len()-len(`,`)*strings.Count(raw, ",") {
			t.Errorf("pages of %d bytes for %d", size, compact.Len())
		}
		if head := pages.HeadOfJSON([]byte(raw), limit); !json.Valid([]byte(head.Text)) {
			t.Errorf("head %q", head.Text)
		}
		for offset := range min(len(raw), 200) {
			if p, err := pages.JSON([]byte(raw), offset, limit); err == nil && !json.Valid([]byte(p.Text)) {
				t.Errorf("offset %d: %q", offset, p.Text)
			}
		}
	})
}

func TestPageLimits(t *testing.T) {
	const raw = `{"items":[{"id":1},{"id":2},{"id":3}],"total":3}`
	tests := []struct {
		limit int
		want  []string
	}{
		{len(raw), []string{raw}},
		{len(raw) - 1, []string{`{"items":[{"id":1},{"id":2},{"id":3}]}`, `{"total":3}`}},
		{len(`{"items":[{"id":1},{"id":2},{"id":3}]}`) - 1, []string{`{"items":[{"id":1},{"id":2}]}`, `{"items":[{"id":3}],"total":3}`}},
		{1, []string{`{"items":[{"id":1}]}`, `{"items":[{"id":2}]}`, `{"items":[{"id":3}]}`, `{"total":3}`}},
	}
	for _, tt := range tests {
		if _, got := readAll(t, raw, func() int { return tt.limit }); cmp.Diff(tt.want, got) != "" {
			t.Errorf("limit %d: %q, want %q", tt.limit, got, tt.want)
		}
	}
	head := pages.HeadOfJSON([]byte(raw), 30)
	want := pages.Page{Text: `{"items":[{"id":1},{"id":2}]}`, Next: 28, Left: []pages.Left{{Count: 1, Total: 2}, {Pointer: "/items", Array: true, Count: 1, Total: 3}}}
	if d := cmp.Diff(want, head); d != "" {
		t.Errorf("head (-want +got):\n%s", d)
	}
	if words := head.Left[1].Words(); words != "1 of 3 elements of /items" {
		t.Errorf("Words() = %q", words)
	}
}

func TestLongStringsAreReadInPieces(t *testing.T) {
	for _, tt := range []struct {
		size  int
		piece bool
	}{{pages.MaxWhole - 1, false}, {pages.MaxWhole, false}, {pages.MaxWhole + 1, true}} {
		raw := `{"a":1,"text":"` + strings.Repeat("x", tt.size-2) + `","b":2}`
		p, err := pages.JSON([]byte(raw), strings.Index(raw, `"text"`), 100)
		if err != nil || p.Piece != tt.piece || p.At != "/text" || !json.Valid([]byte(p.Text)) {
			t.Errorf("%d bytes: %.80v, %v", tt.size, p, err)
		}
	}
	raw := `{"text":"` + strings.Repeat(`é\ud83d\ude00\n`, 10_000) + `","b":2}`
	whole, texts := readAll(t, raw, func() int { return 1000 })
	if d := cmp.Diff(decode(t, raw), whole); d != "" || len(texts) < 100 {
		t.Errorf("%d pages (-want +got):\n%.500s", len(texts), d)
	}
	for _, inside := range []int{1, 3, 8, 15} {
		if _, err := pages.JSON([]byte(raw), len(`{"text":"`)+inside, 10); !fault.Is(err, fault.CodeInvalidParameter) || !strings.Contains(err.Error(), "inside a character") {
			t.Errorf("offset inside an escape, %d: %v", inside, err)
		}
	}
}

func TestWrongOffsets(t *testing.T) {
	const raw = `{"items":[{"id":100},{"id":200}],"é":"text"}`
	for _, offset := range []int{-1, 2, 8, 13, 16, 20, 31, len(raw) - 2, len(raw) + 1} {
		if p, err := pages.JSON([]byte(raw), offset, 100); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("offset %d: %+v, %v", offset, p, err)
		}
	}
	if p, err := pages.JSON([]byte(raw), len(raw), 100); err != nil || p.Text != "" || p.Next != -1 {
		t.Errorf("the end: %+v, %v", p, err)
	}
	for offset, want := range map[int]string{-1: "beyond", 2: "Use 1 or 3", 5: "Use 3 or 6", 7: "beyond"} {
		if _, err := pages.Text([]byte("aé€"), offset, 10); !fault.Is(err, fault.CodeInvalidParameter) || !strings.Contains(err.Error(), want) {
			t.Errorf("text at %d: %v", offset, err)
		}
	}
}

func TestPagesOfTextAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, -1).Filter(utf8.ValidString).Draw(t, "text")
		var got strings.Builder
		for offset := 0; offset >= 0; {
			limit := rapid.IntRange(1, 20).Draw(t, "limit")
			p, err := pages.Text([]byte(text), offset, limit)
			if err != nil || !utf8.ValidString(p.Text) || len(p.Text) > max(limit, utf8.RuneLen([]rune(p.Text + "x")[0])) {
				t.Fatalf("Text(%d, %d) = %+v, %v", offset, limit, p, err)
			}
			got.WriteString(p.Text)
			offset = p.Next
		}
		if got.String() != text {
			t.Fatalf("%q became %q", text, got.String())
		}
		limit := rapid.IntRange(1, 300).Draw(t, "limit")
		if head := pages.HeadOfText([]byte(text), limit); !utf8.ValidString(head.Text) || len(head.Text) > limit || !strings.HasPrefix(text, head.Text) {
			t.Fatalf("head %q", head.Text)
		}
	})
}

func TestPageable(t *testing.T) {
	for raw, want := range map[string]bool{
		`{}`: true, `[]`: true, `"text"`: false, `1`: false,
		strings.Repeat("[", pages.MaxDepth) + strings.Repeat("]", pages.MaxDepth):     true,
		strings.Repeat("[", pages.MaxDepth+1) + strings.Repeat("]", pages.MaxDepth+1): false,
		`{"` + strings.Repeat("n", pages.MaxName-2) + `":1}`:                          true,
		`{"` + strings.Repeat("n", pages.MaxName-1) + `":1}`:                          false,
		`["` + strings.Repeat("n", pages.MaxName) + `"]`:                              true,
		`[` + strings.Repeat("1", pages.MaxWhole) + `]`:                               true,
		`[` + strings.Repeat("1", pages.MaxWhole+1) + `]`:                             false,
	} {
		if got := pages.IsPageable([]byte(raw)); got != want {
			t.Errorf("IsPageable(%.40s…) = %v, want %v", raw, got, want)
		}
	}
}
