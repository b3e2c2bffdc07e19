package rawjson_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/rawjson"
)

// manyNames returns an object of n members with distinct names, and another
// member named last unless last is "".
func manyNames(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d":%d`, i, i)
	}
	if last != "" {
		fmt.Fprintf(&b, `,"%s":0`, last)
	}
	b.WriteByte('}')
	return b.String()
}

func TestDuplicatesAmongManyNames(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130, 5000} {
		unique := manyNames(n, "")
		for _, raw := range []string{unique, `{"nested":` + unique + `,"again":` + unique + `}`} {
			if err := rawjson.Valid([]byte(raw), rawjson.Strict); err != nil {
				t.Errorf("%d different names: %v", n, err)
			}
		}
		for _, last := range []string{"n0", fmt.Sprint("n", n/2), fmt.Sprint("n", n-1), `\u006e0`} {
			raw := []byte(manyNames(n, last))
			for name, text := range map[string][]byte{"": raw, "nested": fmt.Appendf(nil, `{"outer":%s}`, raw)} {
				if _, err := rawjson.ParseObject(text, rawjson.Strict); err == nil {
					t.Errorf("%d names and %s once more, %s, were accepted", n, last, name)
				}
				if _, err := rawjson.ParseObject(text, rawjson.Lenient); err != nil {
					t.Errorf("%d names and %s once more, %s, lenient: %v", n, last, name, err)
				}
			}
		}
	}
}

func TestNestingLimit(t *testing.T) {
	const limit = 10_000
	for _, n := range []int{limit - 1, limit, limit + 1} {
		arrays := strings.Repeat("[", n) + strings.Repeat("]", n)
		objects := strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1)
		for name, err := range map[string]error{
			"arrays":   rawjson.Valid([]byte(arrays), rawjson.Strict),
			"objects":  rawjson.Valid([]byte(objects), rawjson.Strict),
			"elements": second(rawjson.Elements([]byte(arrays), rawjson.Lenient)),
			"members":  second(rawjson.ParseObject([]byte(objects), rawjson.Lenient)),
		} {
			if tooDeep := errors.Is(err, rawjson.ErrTooDeep); tooDeep != (n > limit) || !tooDeep && err != nil {
				t.Errorf("%s nested %d deep: %v", name, n, err)
			}
		}
		if n > limit {
			continue
		}
		compare(t, []byte(arrays))
		compare(t, []byte(objects))
	}
}

func second[T any](_ T, err error) error { return err }

// TestSmallMessagesAllocateTwice limits the cost of parsing, which every
// request and response pays.
func TestSmallMessagesAllocateTwice(t *testing.T) {
	raw := []byte(texts[0])
	for name, mode := range map[string]rawjson.Mode{"strict": rawjson.Strict, "lenient": rawjson.Lenient} {
		if n := testing.AllocsPerRun(100, func() {
			if o, err := rawjson.ParseObject(raw, mode); err != nil || o.Get("method") == nil {
				t.Error(err)
			}
		}); n > 2 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}

// BenchmarkParse measures typical texts and texts crafted to be expensive.
func BenchmarkParse(b *testing.B) {
	call := func(text string) string {
		return `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"` + text + `"}}}`
	}
	for _, bench := range []struct{ name, raw string }{
		{"150 B", call(strings.Repeat("0123456789", 4))},
		{"5 KB", call(strings.Repeat("some words of a text, and so on ", 160))},
		{"1 MB string", call(strings.Repeat("some words of a text, and so on ", 32<<10))},
		{"1 MB not ASCII", call(strings.Repeat("テキスト", 87<<10))},
		{"1 MB escaped", call(strings.Repeat(`line\n`, 170<<10))},
		{"1 MB numbers", `{"a":[` + strings.Repeat("12345.5,", 128<<10) + "0]}"},
		{"nested", `{"a":` + strings.Repeat(`{"a":[`, 31) + strings.Repeat("]}", 31) + "}"},
		{"1 MB names", manyNames(75_000, "")},
		{"1 MB in nested objects", `{"a":[` + strings.Repeat(`{"a":1,"b":2},`, 75_000) + "{}]}"},
	} {
		for name, mode := range map[string]rawjson.Mode{"strict": rawjson.Strict, "lenient": rawjson.Lenient} {
			b.Run(bench.name+"/"+name, func(b *testing.B) {
				raw := []byte(bench.raw)
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := rawjson.ParseObject(raw, mode); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
