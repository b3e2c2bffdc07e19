package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpgateway/services/redact"
)

func TestSecretsAreRemoved(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
	for name, tc := range map[string]struct{ raw, want string }{
		"no secrets":               {`{ "a" : [1, 2.50, true, null, "text"] , "b":{}}`, `{"a":[1,2.50,true,null,"text"],"b":{}}`},
		"a great number":           {`{"n":9007199254740993}`, `{"n":9007199254740993}`},
		"a password":               {`{"user":"ann","password":"hunter2"}`, `{"user":"ann","password":"[redacted]"}`},
		"any kind of value":        {`{"secret":{"a":["x"]},"token":17,"apiKey":null,"cookies":["a"]}`, `{"secret":"[redacted]","token":"[redacted]","apiKey":"[redacted]","cookies":"[redacted]"}`},
		"any spelling":             {`{"API-Key":"x","X_Api_Key":"x","accessToken":"x","client_secret":"x","Set-Cookie":"x","PASSWD":"x","pwd":"x"}`, `{"API-Key":"[redacted]","X_Api_Key":"[redacted]","accessToken":"[redacted]","client_secret":"[redacted]","Set-Cookie":"[redacted]","PASSWD":"[redacted]","pwd":"[redacted]"}`},
		"at any depth":             {`[[{"a":[{"b":{"Authorization":"Basic eA=="}}]}]]`, `[[{"a":[{"b":{"Authorization":"[redacted]"}}]}]]`},
		"a configured header":      {`{"X-Team":"red","x-team":"red","team":"red"}`, `{"X-Team":"[redacted]","x-team":"[redacted]","team":"red"}`},
		"name in a sibling":        {`{"headers":[{"name":"Authorization","value":"x"},{"name":"Accept","value":"y"}]}`, `{"headers":[{"name":"Authorization","value":"[redacted]"},{"name":"Accept","value":"y"}]}`},
		"a bearer token":           {`{"note":"use Bearer abcdef123456 here"}`, `{"note":"use Bearer [redacted] here"}`},
		"our own key":              {`["gwk_` + strings.Repeat("a", 36) + `"]`, `["[redacted]"]`},
		"our own token":            {`["x gwat_abcdef123 y"]`, `["x [redacted] y"]`},
		"a JSON Web Token":         {`["` + jwt + `."]`, `["[redacted]"]`},
		"keys of providers":        {`["ghp_0123456789abcdefghij","sk-proj-0123456789abcdef","AKIAIOSFODNN7EXAMPLE","xoxb-123456789-abc"]`, `["[redacted]","[redacted]","[redacted]","[redacted]"]`},
		"a private key":            {`["a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb"]`, `["a\n[redacted]\nb"]`},
		"an address":               {`["https://ann:hunter2@example.com/?access_token=abc&x=1"]`, `["https://[redacted]@example.com/?access_token=[redacted]&x=1"]`},
		"a text":                   {`["error: password=hunter2; token: 'a b', ok"]`, `["error: password=[redacted]; token: [redacted], ok"]`},
		"a header's line":          {`["GET /\r\nCookie: a=b; c=d\r\nAccept: x"]`, `["GET /\r\nCookie: [redacted]\r\nAccept: x"]`},
		"JSON in a string":         {`{"content":[{"type":"text","text":"{\"password\": \"hunter2\", \"n\": 1}"}]}`, `{"content":[{"type":"text","text":"{\"password\":\"[redacted]\",\"n\":1}"}]}`},
		"JSON in JSON in a string": {`["[\"{\\\"secret\\\":1}\"]"]`, `["[\"{\\\"secret\\\":\\\"[redacted]\\\"}\"]"]`},
		"invalid JSON in a string": {`["{\"password\":\"hunter2\",,"]`, `["{\"password\":[redacted],,"]`},
		"quoted twice":             {`["say {\\\"password\\\":\\\"hunter2\\\"}"]`, `["say {\\\"password\\\":[redacted]\\\"}"]`},
		"a secret as a name":       {`{"gwk_0123456789":1}`, `{"[redacted]":1}`},
		"text only":                {`"plain"`, `"plain"`},
		"control characters":       {`"a\u0000\u0007b"`, `"a\u0000\u0007b"`},
		"nothing":                  {`null`, `null`},
		"similar names":            {`{"keyboard":"qwerty","author":"ann","passenger":"bob","monkey":"x","issue_key":"A-1"}`, `{"keyboard":"qwerty","author":"ann","passenger":"bob","monkey":"x","issue_key":"A-1"}`},
	} {
		got, cut := redact.JSON([]byte(tc.raw), 4096, []string{"X-Team"})
		if got != tc.want || cut {
			t.Errorf("%s:\n got %s (cut %t)\nwant %s", name, got, cut, tc.want)
		}
	}
}

func TestTruncation(t *testing.T) {
	raw := `{"a":"` + strings.Repeat("ü", 100) + `","password":"hunter2","b":[` + strings.Repeat(`"x",`, 100) + `"x"]}`
	whole, cut := redact.JSON([]byte(raw), len(raw)+100, nil)
	if cut || strings.Contains(whole, "hunter2") {
		t.Fatalf("whole: %s, %t", whole, cut)
	}
	for limit := range len(whole) + 2 {
		got, cut := redact.JSON([]byte(raw), limit, nil)
		if len(got) > limit || !utf8.ValidString(got) || cut != (limit < len(whole)) || strings.Contains(got, "hunter") {
			t.Fatalf("%d of %d bytes: %q, cut %t", limit, len(whole), got, cut)
		}
	}
	// A secret at the limit is not shown partially.
	secret := "gwk_" + strings.Repeat("Z", 36)
	for limit := range 80 {
		got, _ := redact.JSON([]byte(`["`+strings.Repeat("a", 20)+" "+secret+" b"+`"]`), limit, nil)
		if strings.Contains(got, "ZZZZZZ") {
			t.Errorf("%d bytes: %q", limit, got)
		}
	}
	if got, cut := redact.JSON([]byte(`{"a":1,`), 100, nil); !cut || got != `{"a":1,` && got != `{"a":1` {
		t.Errorf("invalid JSON: %q, %t", got, cut)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if _, cut := redact.JSON([]byte(deep), 16<<10, nil); !cut {
		t.Error("a deep value was read to its end")
	}
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{`{"password":"hunter2"}`, `["{\"a\":\"Bearer abcdefgh\"}"]`, `{"name":"token","value":[1]}`, `"\ud800"`, "\"\xff\"", `[`, `{"a":1}{"b":2}`, `["a: 'b\\"]`} {
		f.Add([]byte(seed), 100)
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = min(max(limit, 0), 1<<12)
		got, cut := redact.JSON(raw, limit, []string{"X-Team"})
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%q became %q for %d", raw, got, limit)
		}
		if !cut && !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", raw, got)
		}
		// A canary in a secret position never appears in the output.
		const canary = "c4n4ry-v4lu3"
		if json.Valid(raw) {
			if got, _ := redact.JSON([]byte(`{"a":`+string(raw)+`,"password":{"x":"`+canary+`"}}`), 1<<16, nil); strings.Contains(got, canary) {
				t.Fatalf("next to %q: %q", raw, got)
			}
		}
	})
}
