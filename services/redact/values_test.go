package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcpgateway/services/redact"
)

func TestKnownSecretsAreRemoved(t *testing.T) {
	const secret = `s3cr/t+"kö\y=&<1>`
	goJSON, _ := json.Marshal(secret)
	v := redact.NewValues(secret, "12345678", "nabcdefgh", "e9abcdef")
	for name, tc := range map[string]struct{ raw, want string }{
		"Go":                       {`{"a":` + string(goJSON) + `}`, `{"a":"[redacted]"}`},
		"JavaScript":               {`{"a":"x s3cr/t+\"kö\\y=&<1> y"}`, `{"a":"x [redacted] y"}`},
		"Python":                   {`{"a":"s3cr/t+\"k\u00f6\\y=&<1>"}`, `{"a":"[redacted]"}`},
		"PHP":                      {`{"a":"s3cr\/t+\"k\u00f6\\y=&<1>"}`, `{"a":"[redacted]"}`},
		".NET":                     {`{"a":"s3cr/t\u002B\u0022k\u00F6\\y=\u0026\u003C1\u003E"}`, `{"a":"[redacted]"}`},
		"base64":                   {`{"a":"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `"}`, `{"a":"[redacted]"}`},
		"a query":                  {`{"a":"https://x/?k=s3cr%2Ft%2B%22k%C3%B6%5Cy%3D%26%3C1%3E&b=c"}`, `{"a":"https://x/?k=[redacted]&b=c"}`},
		"a name":                   {`{"` + "12345678" + `":1}`, `{"[redacted]":1}`},
		"twice":                    {`["12345678 12345678","12345678"]`, `["[redacted] [redacted]","[redacted]"]`},
		"a number":                 {`{"a":12345678,"b":[-912345678.5e3]}`, `{"a":"[redacted]","b":["[redacted]"]}`},
		"after an escape":          {`{"a":"\\nabcdefgh"}`, `{"a":"\\[redacted]"}`},
		"within an escape":         {`{"a":"\nabcdefgh \u00e9abcdef"}`, `{"a":"\nabcdefgh \u00e9abcdef"}`},
		"other bytes":              {" { \"a\" : 1.0 , \"b\":\"\\ud83d 12345678\" }\n", " { \"a\" : 1.0 , \"b\":\"\\ud83d [redacted]\" }\n"},
		"not JSON":                 {`<p>12345678 s3cr/t+"kö\y=&<1>`, `<p>[redacted] [redacted]`},
		"a part":                   {`{"a":"1234567"}`, `{"a":"1234567"}`},
		"across two strings":       {`["1234","5678"]`, `["1234","5678"]`},
		"the first of two matches": {`"nabcdefghe9abcdef"`, `"[redacted][redacted]"`},
	} {
		if got := string(v.JSON([]byte(tc.raw))); got != tc.want {
			t.Errorf("%s: %s became\n%s, want\n%s", name, tc.raw, got, tc.want)
		}
	}
	if got := v.Text("bad " + secret + " 12345678"); got != "bad [redacted] [redacted]" {
		t.Errorf("the text became %q", got)
	}
}

func TestShortSecretsAreNotRemoved(t *testing.T) {
	for n, removed := range map[int]bool{redact.MinValue - 1: false, redact.MinValue: true, redact.MinValue + 1: true} {
		secret := strings.Repeat("k", n)
		if got := redact.NewValues(secret).Text(secret); (got == redact.Placeholder) != removed {
			t.Errorf("a secret of %d bytes became %q", n, got)
		}
	}
	if v := redact.NewValues("", "short"); v != nil || v.Text("short") != "short" || string(v.JSON([]byte(`"short"`))) != `"short"` {
		t.Errorf("%+v removes something", v)
	}
}

// TestUnchangedTextAllocatesNothing covers every response of a server.
func TestUnchangedTextAllocatesNothing(t *testing.T) {
	v := redact.NewValues("ghp_0123456789abcdefABCDEF0123456789abcd", "a/b+c=defgh")
	raw := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("some words of a text, ", 5000) + `"}]}`)
	if n := testing.AllocsPerRun(100, func() {
		if got := v.JSON(raw); &got[0] != &raw[0] {
			t.Error("it was copied")
		}
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func TestRedactedJSONIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab1e.-"\/ué😀<`)))
		secret := rapid.StringOfN(rapid.SampledFrom([]rune(`ab1e.-"\/ué😀<`)), redact.MinValue, 12, -1).Draw(t, "secret")
		value := text.Draw(t, "before") + secret + text.Draw(t, "after")
		raw, _ := json.Marshal(map[string]any{value: []any{value, 1.5, json.Number(fmt.Sprint(rapid.Int64().Draw(t, "n")))}})
		got := redact.NewValues(secret).JSON(raw)
		if !json.Valid(got) {
			t.Fatalf("%s became %s", raw, got)
		}
		spelled, _ := json.Marshal(secret)
		if bytes.Contains(got, spelled[1:len(spelled)-1]) && !strings.Contains(redact.Placeholder, secret) {
			t.Fatalf("%s became %s", raw, got)
		}
	})
}

func BenchmarkValues(b *testing.B) {
	v := redact.NewValues("ghp_0123456789abcdefABCDEF0123456789abcd")
	for _, size := range []int{200, 5_000, 1 << 20} {
		raw := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("some words of a text, and so on ", size/32) + `"}]}`)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				v.JSON(raw)
			}
		})
	}
}
