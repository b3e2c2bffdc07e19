package capabilities_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpgateway/services/capabilities"
)

func TestForCalls(t *testing.T) {
	const tasks = `"io.modelcontextprotocol/tasks":{}`
	for _, tc := range []struct {
		name, declared string
		use            capabilities.Use
		want           string
	}{
		{"verbatim", "{ \"x\" : 1e400,\n\"elicitation\":{},\"experimental\":{\"a\":[ 1 ]} }", capabilities.Use{Interactive: true}, ""},
		{"core tasks", `{"tasks":{"list":{}},"roots":{}}`, capabilities.Use{Interactive: true, Tasks: true}, `{"roots":{}}`},
		{"not asked", `{"elicitation":{},"sampling":{},"roots":{},"extensions":{"com.example/x":{"a":1}},"experimental":{},"x":null}`, capabilities.Use{},
			`{"extensions":{"com.example/x":{"a":1}},"experimental":{},"x":null}`},
		{"only requests, not asked", `{"elicitation":{},"roots":{}}`, capabilities.Use{}, `{}`},
		{"tasks extension", `{"extensions":{` + tasks + `,"b":{}}}`, capabilities.Use{Tasks: true}, ""},
		{"tasks extension, no tasks", `{"extensions":{` + tasks + `,"b": {}}}`, capabilities.Use{}, `{"extensions":{"b": {}}}`},
		{"only the tasks extension", `{"extensions":{` + tasks + `}}`, capabilities.Use{Interactive: true}, `{}`},
		{"extensions of another type", `{"extensions":7}`, capabilities.Use{}, ""},
		{"empty", `{}`, capabilities.Use{}, ""},
		{"not an object", `[]`, capabilities.Use{}, "nil"},
		{"invalid", `{"a":`, capabilities.Use{}, "nil"},
	} {
		want := tc.want
		if want == "" {
			want = tc.declared
		}
		got := capabilities.ForCalls([]byte(tc.declared)).Of(tc.use)
		if string(got) != want && (want != "nil" || got != nil) {
			t.Errorf("%s: got %s, want %s", tc.name, got, want)
		}
	}
}

func TestIdentify(t *testing.T) {
	equal := []string{`{"a":{"x":1,"y":[1,2]},"b":"é"}`, `{ "b":"\u00e9", "a":{"y":[ 1,2],"x":1} }`}
	if capabilities.Identify([]byte(equal[0])) != capabilities.Identify([]byte(equal[1])) {
		t.Error("the order of members makes a difference")
	}
	seen := map[capabilities.Key]string{}
	for _, raw := range []string{equal[0], `{"a":{"x":1,"y":[2,1]},"b":"é"}`, `{"a":{"x":2,"y":[1,2]},"b":"é"}`, `{"roots":{}}`, `{"n":1}`, `{"n":1.0}`} {
		key := capabilities.Identify([]byte(raw)).Key
		if other := seen[key]; other != "" || key == (capabilities.Key{}) {
			t.Errorf("%s has the key of %q", raw, other)
		}
		seen[key] = raw
	}
	for raw, asked := range map[string]bool{
		`{"elicitation":{}}`: true, `{"sampling":{}}`: true, `{"roots":{}}`: true, `{"roots":null}`: false, `{"extensions":{"roots":{}}}`: false, `{"tasks":{}}`: false,
	} {
		if got := capabilities.Identify([]byte(raw)).Interactive; got != asked {
			t.Errorf("%s: asked = %v", raw, got)
		}
	}
	for _, empty := range []string{"", "{}", " { } ", "null"} {
		if got := capabilities.Identify([]byte(empty)); got != (capabilities.Identity{}) {
			t.Errorf("%q: %v", empty, got)
		}
	}
}

func TestShorten(t *testing.T) {
	const limit = 300
	fill := func(n int) string { return strings.Repeat("a", n) }
	exact := func(n int) string { return `{"x":"` + fill(n-len(`{"x":""}`)) + `"}` }
	for n, fits := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
		got, omitted := capabilities.Shorten([]byte(exact(n)), limit)
		if (string(got) == exact(n)) != fits || (omitted == nil) != fits {
			t.Errorf("%d bytes: got %s, omitted %v", n, got, omitted)
		}
	}
	const three = `"io.modelcontextprotocol/ui":{"a":1},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/skills":{}`
	for _, tc := range []struct {
		name, raw, want string
		omitted         []string
	}{
		{"experimental first", `{"experimental":{"e":"` + fill(limit) + `"},"roots":{},"extensions":{"com.example/x":{}}}`, `{"roots":{},"extensions":{"com.example/x":{}}}`, []string{"experimental"}},
		{"then other extensions", `{"experimental":{},"roots":{},"extensions":{"com.example/x":{"e":"` + fill(limit) + `"},` + three + `}}`, `{"roots":{},"extensions":{` + three + `}}`, []string{"experimental", "extensions"}},
		{"then the rest", `{"roots":{},"future":"` + fill(limit) + `","extensions":{` + three + `}}`, `{"roots":{}}`, []string{"extensions", "other members"}},
		{"all", `{"roots":{"x":"` + fill(limit) + `"}}`, `{}`, []string{"all"}},
	} {
		got, omitted := capabilities.Shorten([]byte(tc.raw), limit)
		if string(got) != tc.want || !slices.Equal(omitted, tc.omitted) {
			t.Errorf("%s: got %s, omitted %v", tc.name, got, omitted)
		}
	}
}

// TestCacheDerivesOnce uses more objects than the cache holds, in several
// goroutines, and objects at the limit of cached ones.
func TestCacheDerivesOnce(t *testing.T) {
	var mu sync.Mutex
	derived := map[string]int{}
	cache := capabilities.NewCache(func(raw []byte) string {
		mu.Lock()
		defer mu.Unlock()
		derived[string(raw)]++
		return "of " + string(raw)
	})
	raw := []byte(`{"a":1}`)
	for range 3 {
		if got := cache.Of(raw); got != `of {"a":1}` {
			t.Fatal(got)
		}
	}
	raw[2] = 'b' // the cache must not keep the caller's bytes
	if got := cache.Of([]byte(`{"a":1}`)); got != `of {"a":1}` || derived[`{"a":1}`] != 1 {
		t.Errorf("got %s after %d derivations", got, derived[`{"a":1}`])
	}
	for n, times := range map[int]int{4095: 1, 4096: 1, 4097: 2} {
		large := []byte(strings.Repeat("x", n))
		cache.Of(large)
		cache.Of(large)
		if derived[string(large)] != times {
			t.Errorf("%d bytes: derived %d times", n, derived[string(large)])
		}
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range 5000 {
				if raw := fmt.Sprint(i); cache.Of([]byte(raw)) != "of "+raw {
					t.Error(raw)
				}
			}
		})
	}
	running.Wait()
}

func BenchmarkCached(b *testing.B) {
	cache := capabilities.NewCache(capabilities.Identify)
	raw := []byte(capabilities.Sync)
	b.ReportAllocs()
	for b.Loop() {
		cache.Of(raw)
	}
}
