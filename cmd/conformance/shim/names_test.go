package shim_test

import (
	"net/http"
	"testing"

	"mcpgateway/cmd/conformance/shim"
)

func names(t *testing.T) shim.Names {
	t.Helper()
	n, err := shim.NewNames("conf")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNewNamesValidatesAlias(t *testing.T) {
	for alias, valid := range map[string]bool{"conf": true, "a_b": true, "": false, "a__b": false} {
		if _, err := shim.NewNames(alias); (err == nil) != valid {
			t.Errorf("NewNames(%q) = %v, want valid %t", alias, err, valid)
		}
	}
}

func TestRequestExportsNames(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e400}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conf__echo","arguments":{"n":1e400}}}`},
		{"tool starting with separator", `{"method":"tools/call","params":{"name":"__x"}}`, `{"method":"tools/call","params":{"name":"conf____x"}}`},
		{"prompt", `{"method":"prompts/get","params":{"name":"p"}}`, `{"method":"prompts/get","params":{"name":"conf__p"}}`},
		{"prompt completion", `{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{}}}`,
			`{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"conf__p"},"argument":{}}}`},
		{"resource completion", `{"method":"completion/complete","params":{"ref":{"type":"ref/resource","name":"p"}}}`, ""},
		{"name not a string", `{"method":"tools/call","params":{"name":7}}`, ""},
		{"no name", `{"method":"tools/call","params":{}}`, ""},
		{"no params", `{"method":"tools/call"}`, ""},
		{"params not an object", `{"method":"tools/call","params":[1]}`, ""},
		{"another method", `{"method":"resources/read","params":{"name":"echo"}}`, ""},
		{"broken JSON", `{"method":"tools/call"`, ""},
		{"batch", `[{"method":"tools/call","params":{"name":"echo"}}]`, ""},
		{"response", `{"id":1,"result":{"name":"echo"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.in
			}
			if got := string(names(t).Request([]byte(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestHeaderExportsName(t *testing.T) {
	for _, c := range []struct{ name, method, value, want string }{
		{"tool", "tools/call", "echo", "conf__echo"},
		{"prompt", "prompts/get", "p", "conf__p"},
		{"resource", "resources/read", "file:///x", "file:///x"},
		{"no method header", "", "echo", "echo"},
		{"base64", "tools/call", "=?base64?w6k=?=", "=?base64?Y29uZl9fw6k=?="},
		{"invalid base64", "tools/call", "=?base64?!?=", "=?base64?!?="},
		{"incomplete sentinel", "tools/call", "=?base64?=", "conf__=?base64?="},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{"Mcp-Name": {c.value}}
			if c.method != "" {
				h.Set("Mcp-Method", c.method)
			}
			names(t).Header(h)
			if got := h.Get("Mcp-Name"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	h := http.Header{"Mcp-Method": {"tools/call"}}
	names(t).Header(h)
	if len(h) != 1 {
		t.Errorf("Header() without a name = %v, want it unchanged", h)
	}
}

func TestResponseListsBareNames(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"tools", `{"id":1,"result":{"tools":[{"name":"conf__a","x":1.0},{"name":"other__a"},{"name":"gateway_executeTool"},{"name":"conf____b"}],"nextCursor":"c"}}`,
			`{"id":1,"result":{"tools":[{"name":"a","x":1.0},{"name":"__b"}],"nextCursor":"c"}}`},
		{"prompts", `{"id":1,"result":{"prompts":[{"name":"conf__p"}]}}`, `{"id":1,"result":{"prompts":[{"name":"p"}]}}`},
		{"entries without name", `{"id":1,"result":{"tools":[{"title":"x"},7]}}`, `{"id":1,"result":{"tools":[{"title":"x"},7]}}`},
		{"no matching entry", `{"id":1,"result":{"tools":[{"name":"other__a"}]}}`, `{"id":1,"result":{"tools":[]}}`},
		{"capabilities", `{"id":1,"result":{"capabilities":{"tools":{}}}}`, ""},
		{"error", `{"id":1,"error":{"message":"no \"tools\""}}`, ""},
		{"request", `{"id":1,"method":"x","result":{"tools":[{"name":"conf__a"}]}}`, ""},
		{"notification", `{"method":"x","params":{"tools":[{"name":"conf__a"}]}}`, ""},
		{"broken JSON", `{"id":1,"result":{"tools":[`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.in
			}
			if got := string(names(t).Response([]byte(c.in))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
