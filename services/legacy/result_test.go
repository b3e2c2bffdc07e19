package legacy_test

import (
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/legacy"
	"mcpgateway/services/upstream"
)

func TestResult(t *testing.T) {
	const serverInfo = `"io.modelcontextprotocol/serverInfo":{"name":"up"}`
	for _, tc := range []struct {
		name         string
		stateless    bool
		output       legacy.Output
		result, want string // want is empty for the same bytes
	}{
		{"members of 2026-07-28", true, legacy.OutputObject, `{"resultType":"complete","content":[],"ttlMs":1,"cacheScope":"private","_meta":{` + serverInfo + `},"x":1}`, `{"content":[],"x":1}`},
		{"other meta", true, legacy.OutputObject, `{"content":[],"_meta":{"a":1,` + serverInfo + `}}`, `{"content":[],"_meta":{"a":1}}`},
		{"empty meta", true, legacy.OutputObject, `{"content":[],"_meta":{}}`, ""},
		{"unknown content", true, legacy.OutputObject, `{"content":[{"type":"x"},{"type":"text","text":"a"}]}`, `{"content":[{"type":"text","text":"{\"type\":\"x\"}"},{"type":"text","text":"a"}]}`},
		{"array", true, legacy.OutputObject, `{"content":[{"type":"text","text":"a"}],"structuredContent":[ 1 ]}`, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":[ 1 ]}}`},
		{"array, empty content", true, legacy.OutputObject, `{"content":[],"structuredContent":[1]}`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`},
		{"array, no content", true, legacy.OutputObject, `{"structuredContent":"a"}`, `{"structuredContent":{"result":"a"},"content":[{"type":"text","text":"\"a\""}]}`},
		{"object", true, legacy.OutputObject, `{"content":[],"structuredContent":{"a":1}}`, ""},
		{"null", true, legacy.OutputObject, `{"content":[],"structuredContent":null,"_meta":null}`, `{"content":[]}`},
		{"object of a wrapped schema", true, legacy.OutputWrapped, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, `{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":{"a":1}}}`},
		{"null of a wrapped schema", true, legacy.OutputWrapped, `{"content":[],"structuredContent":null}`, `{"content":[{"type":"text","text":"null"}],"structuredContent":{"result":null}}`},
		{"no value of a wrapped schema", true, legacy.OutputWrapped, `{"content":[],"isError":true}`, ""},
		{"original", true, legacy.OutputOriginal, `{"resultType":"complete","content":[],"structuredContent":[1]}`, `{"content":[],"structuredContent":[1]}`},

		{"handshake, unchanged", false, legacy.OutputObject, "{ \"resultType\":\"x\",\"ttlMs\":1, \"content\":[{\"type\":\"x\"}],\n\"structuredContent\":[1],\"_meta\":{" + serverInfo + `} }`, ""},
		{"handshake, wrapped schema", false, legacy.OutputWrapped, `{ "ttlMs":1,"content":[{"type":"x"}],"structuredContent":[1] }`, `{ "ttlMs":1,"content":[{"type":"x"}],"structuredContent":{"result":[1]} }`},
		{"handshake, nulls", false, legacy.OutputWrapped, `{"content":[],"structuredContent":null,"_meta":null}`, `{"content":[]}`},
		{"handshake, original", false, legacy.OutputOriginal, `{"structuredContent":[1]}`, ""},
	} {
		if tc.want == "" {
			tc.want = tc.result
		}
		got, err := legacy.Result(&upstream.Response{Result: []byte(tc.result), Stateless: tc.stateless}, tc.output)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %s, %v\nwant %s", tc.name, got, err, tc.want)
		}
	}
	for _, raw := range []string{`{"resultType":"task"}`, `{"resultType":"input_required"}`, `{"resultType":null}`, `{"content":`} {
		if _, err := legacy.Result(&upstream.Response{Result: []byte(raw), Stateless: true}, legacy.OutputObject); !fault.Is(err, fault.CodeUpstreamInvalidResponse) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
