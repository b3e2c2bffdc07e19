package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnmodifiedObjectKeepsBytes(t *testing.T) {
	raw := []byte(" { \"b\" : 12345678901234567890 ,\n\"a\":1e400, \"\\u0061b\":[ 1,2 ]}\n")
	o, err := ParseObject(raw, Strict)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Bytes(); !bytes.Equal(got, raw) {
		t.Errorf("got %q, want %q", got, raw)
	}
	if got := string(o.Get("ab")); got != "[ 1,2 ]" {
		t.Errorf("an escaped name is decoded: got %q", got)
	}
}

func TestEditsPreserveTheRest(t *testing.T) {
	for _, tc := range []struct {
		name, raw, want string
		edit            func(*Object)
	}{
		{"replace", `{"a":1, "name" : "x" ,"z":2}`, `{"a":1, "name" : "y" ,"z":2}`, func(o *Object) { o.Set("name", []byte(`"y"`)) }},
		{"add", `{"a":1 }`, `{"a":1,"b":2 }`, func(o *Object) { o.Set("b", []byte("2")) }},
		{"add to empty", `{ }`, `{"b":2 }`, func(o *Object) { o.Set("b", []byte("2")) }},
		{"add twice", `{}`, `{"b":3}`, func(o *Object) { o.Set("b", []byte("2")); o.Set("b", []byte("3")) }},
		{"delete first", `{"a":1, "b":2}`, `{ "b":2}`, func(o *Object) { o.Delete("a") }},
		{"delete middle", `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`, func(o *Object) { o.Delete("b") }},
		{"delete last", `{"a":1,"b":2}`, `{"a":1}`, func(o *Object) { o.Delete("b") }},
		{"delete all, add", `{"a":1,"b":2}`, `{"c":3}`, func(o *Object) { o.Delete("a"); o.Delete("b"); o.Set("c", []byte("3")) }},
		{"delete added", `{"a":1}`, `{"a":1}`, func(o *Object) { o.Set("b", []byte("2")); o.Delete("b") }},
		{"comma in a name", `{"a":1,",":2}`, `{",":2}`, func(o *Object) { o.Delete("a") }},
		{"duplicates", `{"a":1,"b":2,"a":3}`, `{"b":2,"a":4}`, func(o *Object) { o.Set("a", []byte("4")) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := ParseObject([]byte(tc.raw), Lenient)
			if err != nil {
				t.Fatal(err)
			}
			tc.edit(o)
			if got := string(o.Bytes()); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestStrictRejectsAmbiguousObjects(t *testing.T) {
	for _, raw := range []string{
		`{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":1,"\u0061":2}`, `{"a":1}x`, `{"a":1}{}`, `{"a":1,}`, `{a:1}`, `{"a":01}`,
		"{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", `[1]`, `"x"`, `null`, ``, ` `, `{`, `{"a"`, `{"a":`, `{"a":NaN}`,
	} {
		if _, err := ParseObject([]byte(raw), Strict); err == nil {
			t.Errorf("%q was accepted", raw)
		}
	}
	if o, err := ParseObject([]byte(`{"Name":1}`), Strict); err != nil || o.Get("name") != nil {
		t.Errorf("names must be compared exactly: %v", err)
	}
}

func TestDepthLimitIsExact(t *testing.T) {
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, n := range []int{63, 64} {
		if err := CheckDepth(nest(n), 64); err != nil {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	if err := CheckDepth(nest(65), 64); !errors.Is(err, ErrTooDeep) {
		t.Errorf("depth 65 gave %v", err)
	}
	if err := CheckDepth([]byte(`{"a":"[[[[\"[[["}`), 1); err != nil {
		t.Errorf("brackets in strings count: %v", err)
	}
}

func TestElementsAreRaw(t *testing.T) {
	got, err := Elements([]byte(` [ 1 ,{"a": 1},"x" ] `), Strict)
	if err != nil || len(got) != 3 || string(got[1]) != `{"a": 1}` {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := Elements([]byte(`[1] 2`), Strict); err == nil {
		t.Error("trailing data was accepted")
	}
}

func TestEditedObjectIsValidJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "object")
		raw, _ := json.Marshal(m)
		o, err := ParseObject(raw, Strict)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "edits") {
			name := rapid.OneOf(rapid.SampledFrom(append(o.Names(), "x")), rapid.String()).Draw(t, "name")
			if i%2 == 0 {
				o.Delete(name)
				delete(m, name)
			} else {
				o.Set(name, Quote("v"))
				m[name] = "v"
			}
		}
		var back map[string]string
		if err := json.Unmarshal(o.Bytes(), &back); err != nil {
			t.Fatalf("%s: %v", o.Bytes(), err)
		}
		want, _ := json.Marshal(m)
		got, _ := json.Marshal(back)
		if !bytes.Equal(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// Appending a member and editing a clone leave the object unchanged. An
// appended member has the same position as an added one.
func TestAppendedMembersAndCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.StringMatching("[a-i]"), rapid.String()).Draw(t, "object")
		raw, _ := json.Marshal(m)
		space := rapid.SampledFrom([]string{"", " ", "\n\t"})
		raw = append(append(raw[:len(raw)-1:len(raw)-1], space.Draw(t, "inside")...), '}')
		o, err := ParseObject(append(raw, space.Draw(t, "after")...), Strict)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "edited") {
			o.Delete("a")
			o.Set("b", []byte("1"))
		}
		before := string(o.Bytes())
		added := o.Clone()
		added.Set("x", []byte("2"))
		added.Set("b", []byte("3"))
		added.Set("b", o.Get("b"))
		if o.Get("b") == nil {
			added.Delete("b")
		}
		if got, want := string(o.AppendWith([]byte("..."), "x", []byte("2"))), "..."+string(added.Bytes()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if after := string(o.Bytes()); after != before {
			t.Errorf("the object was %s and is %s", before, after)
		}
	})
}
