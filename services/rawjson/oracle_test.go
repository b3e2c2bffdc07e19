package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/rawjson"
)

// split contains the parts of a text as parsed by jsontext.
type split struct {
	Names  []string // of an object
	Values []string // of an object or an array
}

// splitByOther returns the parts of an object or array according to jsontext,
// or its error.
func splitByOther(raw []byte, kind jsontext.Kind, mode rawjson.Mode) (s split, err error) {
	d, err := otherDecoder(raw, mode)
	if err != nil {
		return s, err
	}
	if _, err := d.ReadToken(); err != nil {
		return s, err
	}
	if jsontext.Value(raw).Kind() != kind {
		return s, errors.New("of another kind")
	}
	for d.PeekKind() != kind+2 {
		if kind == '{' {
			name, err := d.ReadToken()
			if err != nil {
				return s, err
			}
			s.Names = append(s.Names, name.String())
		}
		value, err := d.ReadValue()
		if err != nil {
			return s, err
		}
		s.Values = append(s.Values, string(value))
	}
	if _, err := d.ReadToken(); err != nil {
		return s, err
	}
	return s, ended(d)
}

func validByOther(raw []byte, mode rawjson.Mode) error {
	d, err := otherDecoder(raw, mode)
	if err != nil {
		return err
	}
	if err := d.SkipValue(); err != nil {
		return err
	}
	return ended(d)
}

// otherDecoder returns jsontext's decoder of raw. The option that accepts half
// a surrogate pair in an escape also accepts invalid bytes.
func otherDecoder(raw []byte, mode rawjson.Mode) (*jsontext.Decoder, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("invalid UTF-8")
	}
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(mode == rawjson.Lenient), jsontext.AllowInvalidUTF8(true)), nil
}

func ended(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows: %w", err)
	}
	return nil
}

// compare fails the test if this package and jsontext parse raw differently, or
// if it accepts what encoding/json rejects or vice versa.
func compare(t *testing.T, raw []byte) {
	t.Helper()
	for name, mode := range map[string]rawjson.Mode{"strict": rawjson.Strict, "lenient": rawjson.Lenient} {
		err, otherErr := rawjson.Valid(raw, mode), validByOther(raw, mode)
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("%s: %.200q gives %v, jsontext says %v", name, raw, err, otherErr)
		}
		if err == nil && !json.Valid(raw) {
			t.Fatalf("%s: %.200q was accepted, which encoding/json rejects", name, raw)
		}
		if mode == rawjson.Lenient && err != nil && json.Valid(raw) && utf8.Valid(raw) && !errors.Is(err, rawjson.ErrTooDeep) {
			t.Fatalf("%.200q was rejected, which encoding/json accepts: %v", raw, err)
		}

		var got split
		o, err := rawjson.ParseObject(raw, mode)
		want, otherErr := splitByOther(raw, '{', mode)
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("%s: object %.200q gives %v, jsontext says %v", name, raw, err, otherErr)
		}
		if err == nil {
			for name, value := range o.All() {
				got.Names, got.Values = append(got.Names, name), append(got.Values, string(value))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: object %.200q (-jsontext +got):\n%s", name, raw, diff)
			}
			o.Set("\x00added", []byte("1"))
			if !json.Valid(o.Bytes()) {
				t.Fatalf("%s: an edit of %.200q gives %.200q", name, raw, o.Bytes())
			}
		}

		elements, err := rawjson.Elements(raw, mode)
		want, otherErr = splitByOther(raw, '[', mode)
		if (err == nil) != (otherErr == nil) {
			t.Fatalf("%s: array %.200q gives %v, jsontext says %v", name, raw, err, otherErr)
		}
		if err == nil {
			got = split{}
			for _, element := range elements {
				got.Values = append(got.Values, string(element))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: array %.200q (-jsontext +got):\n%s", name, raw, diff)
			}
		}
	}

	text, ok := rawjson.String(raw)
	want, err := jsontext.AppendUnquote(nil, bytes.Trim(raw, " \t\r\n"))
	if utf8.Valid(raw) && json.Valid(raw) && rawjson.Kind(raw) == '"' {
		if exact := rawjson.IsExact(raw); exact != (err == nil) {
			t.Fatalf("%.200q is exact: %t; jsontext says %v", raw, exact, err)
		}
		err = nil // jsontext decodes half a surrogate pair to U+FFFD and also returns an error
	}
	if ok != (err == nil) || ok && text != string(want) {
		t.Fatalf("the string %.200q is %.200q, %t; jsontext says %.200q, %v", raw, text, ok, want, err)
	}
	quoted := rawjson.Quote(string(raw))
	if want, err := jsontext.AppendQuote(nil, raw); err == nil && string(quoted) != string(want) {
		t.Fatalf("%.200q is quoted as %.200q, jsontext says %.200q", raw, quoted, want)
	}
	if back, ok := rawjson.String(quoted); !ok || utf8.Valid(raw) && back != string(raw) {
		t.Fatalf("%.200q comes back as %.200q, %t", raw, back, ok)
	}
}

// texts contain all features of JSON, valid and invalid.
var texts = []string{
	`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"0123456789"}}}`,
	" { \"a\" : [ 1 , -2.5e+10 , true , false , null , {} , [ ] , \"\" ] ,\r\n\t\"b\":{\"c\":{\"d\":[[[]]]}} } ",
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"b":{"a":1},"a":2}}`, `[{"a":1},{"a":1,"a":1}]`, `{"a":{"a":{"a":1}},"b":{"a":1}}`,
	`[0,-0,0.5,1e5,1E-5,10,01,-01,1.,.5,1e,1e+,+1,-,--1,0x1,1_0,NaN,Infinity]`, `0`, `-0.0e-0`, `1.5`, `12345678901234567890123456789.5`,
	`"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00\u0000"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83dx"`, `"\u12g4"`, `"\x41"`, `"\U0041"`,
	`{"é":"日本語のテキスト、かなり長いもの 😀 and ASCII"}`, "\"\x7f\u2028\"", "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\x80\"", "\"01234567\x01\"",
	"\ufeff{}", "{}\x00", "{}\u00a0", `true`, `false`, `null`, `tru`, `nulll`, `True`, ``, ` `, `{}{}`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1,}`, `[1,]`, `[,]`, `{,}`,
	`{1:2}`, `{"a":}`, `{'a':1}`, `[1}`, `{"a":1]`, `/*c*/1`, `"abc`, `"abc\`, `"abc\u12`, `[[[[`, `{"a":{"b":`, `]`, `}`, `:`, `,`,
}

func TestMatchesOtherParsers(t *testing.T) {
	for _, text := range texts {
		compare(t, []byte(text))
	}
}

// TestDamagedTextMatchesOtherParsers truncates the texts at every index and
// inserts every kind of byte at every index.
func TestDamagedTextMatchesOtherParsers(t *testing.T) {
	damage := []byte("\"\\{}[],:0 1-.eEtfnu\n\x00\x1f\x7f\x80\xc3\xe2\xf0\xff")
	for _, text := range texts {
		for i := range len(text) {
			compare(t, []byte(text[:i]))
			for _, c := range damage {
				damaged := []byte(text)
				damaged[i] = c
				compare(t, damaged)
			}
		}
	}
}

// TestTextLengthsMatchOtherParsers ends a plain run of bytes after every
// length.
func TestTextLengthsMatchOtherParsers(t *testing.T) {
	for n := range 40 {
		plain := strings.Repeat("x~ }", 10)[:n]
		for _, special := range []string{"", `\n`, "\x1f", " ", "!", "#", "[", "]", "\x7f", "é", "\x80", `\u00e9`, `"`} {
			compare(t, []byte(`"`+plain+special+plain+`"`))
			compare(t, []byte(`{"`+plain+special+`":"`+special+plain+`"}`))
		}
	}
}

func FuzzMatchesOtherParsers(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte(manyNames(17, "")))
	f.Fuzz(compare)
}
