package page_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
)

func ring(t testing.TB, seeds ...byte) *secrets.KeyRing {
	t.Helper()
	var keys []string
	for _, seed := range seeds {
		b := make([]byte, 32)
		for i := range b {
			b[i] = seed + byte(i)*7
		}
		keys = append(keys, "k"+string('a'+rune(seed))+":"+base64.StdEncoding.EncodeToString(b))
	}
	r, err := secrets.ParseKeyRing(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func toolSearch() page.Binding {
	return page.Binding{Surface: "tools", Scope: "project-1", Principal: "key-1", Query: "git -lab"}
}

func seal(t testing.TB, c *page.Cursors, b page.Binding, revision, position string) string {
	t.Helper()
	cursor, err := c.Seal(b, revision, position)
	if err != nil {
		t.Fatal(err)
	}
	return cursor
}

func wantInvalid(t interface {
	Helper()
	Errorf(string, ...any)
}, what, position string, err error) {
	t.Helper()
	f := fault.From(err)
	if err == nil || position != "" || f.Code != fault.CodeInvalidCursor || f.Kind != fault.KindInvalid || !f.Restart || f.Span != nil {
		t.Errorf("%s: got %q, %+v", what, position, f)
	}
}

func TestCursorRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		name               string
		binding            page.Binding
		revision, position string
	}{
		{"tool search", toolSearch(), "17", "20"},
		{"the catalog", page.Binding{Surface: "registry"}, "a1b2c3", "verified/Title/id-1"},
		{"empty parts", page.Binding{}, "", ""},
		{"longest parts", page.Binding{Surface: "templates", Query: strings.Repeat("\U0001F600", 2048)}, strings.Repeat("r", page.MaxRevision), strings.Repeat("p", page.MaxPosition)},
		{"parts that look like lengths", page.Binding{Surface: "x", Scope: "\x00\x01"}, "\x05\xff", "\x00\x00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cursor := seal(t, page.NewCursors(ring(t, 1)), tc.binding, tc.revision, tc.position)
			if len(cursor) > page.MaxCursor {
				t.Errorf("the cursor has %d characters", len(cursor))
			}
			other := page.NewCursors(ring(t, 2, 1)) // another process with another active key
			position, err := other.Open(tc.binding, tc.revision, cursor)
			if err != nil || position != tc.position {
				t.Errorf("got %q (%v)", position, err)
			}
			if revision, err := other.Revision(tc.binding, cursor); err != nil || revision != tc.revision {
				t.Errorf("revision %q (%v)", revision, err)
			}
		})
	}
}

func TestCursorOfOtherBindingIsInvalid(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	cursor := seal(t, c, toolSearch(), "17", "20")
	for name, change := range map[string]func(*page.Binding){
		"another surface":          func(b *page.Binding) { b.Surface = "declarations" },
		"another project":          func(b *page.Binding) { b.Scope = "project-2" },
		"the catalog":              func(b *page.Binding) { b.Scope = "" },
		"another principal":        func(b *page.Binding) { b.Principal = "key-2" },
		"nobody":                   func(b *page.Binding) { b.Principal = "" },
		"another query":            func(b *page.Binding) { b.Query = "git" },
		"parts split elsewhere":    func(b *page.Binding) { b.Scope, b.Principal = "project-1k", "ey-1" },
		"parts in other fields":    func(b *page.Binding) { b.Scope, b.Principal = b.Principal, b.Scope },
		"the surface in the scope": func(b *page.Binding) { b.Surface, b.Scope = "", "tools"+b.Scope },
	} {
		b := toolSearch()
		change(&b)
		position, err := c.Open(b, "17", cursor)
		wantInvalid(t, name, position, err)
		position, err = c.Open(b, "18", cursor) // a foreign cursor doesn't reveal its age
		wantInvalid(t, name, position, err)
		revision, err := c.Revision(b, cursor)
		wantInvalid(t, name, revision, err)
	}
	position, err := page.NewCursors(ring(t, 3)).Open(toolSearch(), "17", cursor)
	wantInvalid(t, "another key", position, err)
}

func TestCursorWithAnyBitFlippedIsInvalid(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	cursor := seal(t, c, toolSearch(), "17", "20")
	for i := range len(cursor) {
		for bit := range 8 {
			changed := []byte(cursor)
			changed[i] ^= 1 << bit
			position, err := c.Open(toolSearch(), "17", string(changed))
			wantInvalid(t, string(changed), position, err)
		}
	}
}

func TestGarbageIsInvalid(t *testing.T) {
	r := ring(t, 1)
	c := page.NewCursors(r)
	cursor := seal(t, c, toolSearch(), "17", "20")
	longest := strings.Repeat("A", page.MaxCursor)
	garbage := []string{"", " ", "0", "null", "%%%", cursor + "A", cursor + "=", " " + cursor, cursor[1:], cursor[:len(cursor)-1], cursor + cursor, longest[1:], longest, longest + "A"}
	// These were sealed with the same key and purpose but are not cursors.
	for _, plain := range []string{"", "\x01", "\x01" + strings.Repeat("\x00", 16), "\x01" + strings.Repeat("\x00", 17), "\x02" + strings.Repeat("\x00", 40)} {
		garbage = append(garbage, r.SealToken("cursor tools", []byte(plain)))
	}
	garbage = append(garbage, r.SealToken("session", []byte("x")))
	for _, s := range garbage {
		position, err := c.Open(toolSearch(), "17", s)
		if wantInvalid(t, s, position, err); fault.From(err).Cause != nil { // a cause is logged as an error of the gateway
			t.Errorf("%s: cause %v", s, fault.From(err).Cause)
		}
	}
}

// recorder doesn't seal and records its input.
type recorder struct{ plain []byte }

func (r *recorder) SealToken(_ string, plain []byte) string { r.plain = plain; return "token" }

func (r *recorder) OpenToken(_, token string) ([]byte, error) {
	if token != "token" {
		return nil, errors.New("no token")
	}
	return r.plain, nil
}

func TestForeignContentIsInvalid(t *testing.T) {
	r := &recorder{}
	c := page.NewCursors(r)
	seal(t, c, toolSearch(), "17", "20")
	whole := r.plain
	for name, plain := range map[string][]byte{
		"another version":       append([]byte{2}, whole[1:]...),
		"a revision cut short":  whole[:len(whole)-3],
		"no revision":           whole[:17],
		"another binding":       append([]byte{1, ^whole[1]}, whole[2:]...),
		"a revision beyond all": append(append(append([]byte{}, whole[:17]...), 255), whole[18:]...),
	} {
		r.plain = plain
		position, err := c.Open(toolSearch(), "17", "token")
		wantInvalid(t, name, position, err)
	}
	r.plain = whole
	if position, err := c.Open(toolSearch(), "17", "token"); err != nil || position != "20" {
		t.Errorf("the whole content opens as %q (%v)", position, err)
	}
	position, err := c.Open(toolSearch(), "17", strings.Repeat("x", page.MaxCursor))
	if wantInvalid(t, "a long cursor", position, err); fault.From(err).Cause == nil {
		t.Error("the longest cursor is not looked at")
	}
	position, err = c.Open(toolSearch(), "17", strings.Repeat("x", page.MaxCursor+1))
	if wantInvalid(t, "too long a cursor", position, err); fault.From(err).Cause != nil {
		t.Error("a longer cursor is looked at")
	}
}

func TestCursorOfAnotherRevisionIsStale(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	cursor := seal(t, c, toolSearch(), "17", "20")
	for _, revision := range []string{"16", "18", "1", "172", "", "17 "} {
		position, err := c.Open(toolSearch(), revision, cursor)
		f := fault.From(err)
		if position != "" || f.Code != fault.CodeCursorStale || f.Kind != fault.KindConflict || !f.Restart || f.Span != nil {
			t.Errorf("at %q: got %q, %+v", revision, position, f)
		}
	}
}

func TestOversizedCursorParts(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	for _, tc := range []struct {
		revision, position int
		fits               bool
	}{
		{page.MaxRevision - 1, page.MaxPosition - 1, true},
		{page.MaxRevision, page.MaxPosition, true},
		{page.MaxRevision + 1, 0, false},
		{0, page.MaxPosition + 1, false},
	} {
		cursor, err := c.Seal(toolSearch(), strings.Repeat("r", tc.revision), strings.Repeat("p", tc.position))
		if tc.fits != (err == nil) || tc.fits != (cursor != "") || !tc.fits && !fault.Is(err, fault.CodeInternal) {
			t.Errorf("%d and %d bytes: got %q (%v)", tc.revision, tc.position, cursor, err)
		}
	}
}

// silent is a sealer that fails.
type silent struct{ recorder }

func (silent) SealToken(string, []byte) string { return "" }

func TestEmptyTokenIsInvalid(t *testing.T) {
	if cursor, err := page.NewCursors(&silent{}).Seal(toolSearch(), "17", "20"); cursor != "" || !fault.Is(err, fault.CodeInternal) {
		t.Errorf("got %q (%v)", cursor, err)
	}
}

func TestCursorIsOpaque(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	cursor := seal(t, c, toolSearch(), "revision-17", "position-20")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatalf("%q is not base64url: %v", cursor, err)
	}
	for _, part := range []string{"tools", "project", "key-1", "git", "revision", "position"} {
		if strings.Contains(string(raw), part) {
			t.Errorf("the cursor holds %q", part)
		}
	}
}

func TestCursorOpensOnlyForItsBinding(t *testing.T) {
	c := page.NewCursors(ring(t, 1))
	part := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "\x00", "\x01a"}), rapid.StringN(0, 20, -1))
	binding := rapid.Custom(func(t *rapid.T) page.Binding {
		return page.Binding{
			Surface:   rapid.SampledFrom([]string{"tools", "registry", "templates"}).Draw(t, "surface"),
			Scope:     part.Draw(t, "scope"),
			Principal: part.Draw(t, "principal"),
			Query:     part.Draw(t, "query"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		made, asked := binding.Draw(t, "made"), binding.Draw(t, "asked")
		revision, position := part.Draw(t, "revision"), part.Draw(t, "position")
		cursor, err := c.Seal(made, revision, position)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Open(made, revision, cursor); err != nil || got != position {
			t.Fatalf("got %q (%v)", got, err)
		}
		if got, err := c.Open(asked, revision, cursor); made != asked {
			wantInvalid(t, "another binding", got, err)
		}
	})
}

// earlier is a cursor of toolSearch at revision 17 and position 20, sealed by
// another process with the key of seed 1.
const earlier = "AepBEbtFrYBeXFElt8ElY9QP5CfdBkJb8-PBwLZVLKIrGeLPZUGJCKv68sHzF6ZSf0yVJDxNgw"

func TestCursorSurvivesRestart(t *testing.T) {
	if position, err := page.NewCursors(ring(t, 1)).Open(toolSearch(), "17", earlier); err != nil || position != "20" {
		t.Errorf("got %q (%v)", position, err)
	}
}

func FuzzOpen(f *testing.F) {
	c := page.NewCursors(ring(f, 1))
	for _, s := range []string{earlier, earlier[1:], earlier + "A", "", "AQ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		if position, err := c.Open(toolSearch(), "17", cursor); cursor != earlier {
			wantInvalid(t, cursor, position, err)
		}
	})
}

func BenchmarkCursor(b *testing.B) {
	c := page.NewCursors(ring(b, 1))
	binding := toolSearch()
	cursor := seal(b, c, binding, "17", "20")
	b.Run("Seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			seal(b, c, binding, "17", "20")
		}
	})
	b.Run("Open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Open(binding, "17", cursor); err != nil {
				b.Fatal(err)
			}
		}
	})
}
