package playground

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	views "mcpgateway/views/admin"
)

func TestResultOddities(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"content":[]}`: nil,
		`{"content":[{"type":"text","text":""},{"type":"image","data":"","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"},
			{"type":"resource_link","uri":"a:b","name":"n"},{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource","resource":{"uri":"a:b","blob":""}}],
			"structuredContent":{},"isError":false,"_meta":{}}`: nil,
		`{}`:              {"content is missing; an empty list is required"},
		`{"content":"x"}`: {"content is not a list"},
		`{"content":[7,{},{"type":7},{"type":"video"},{"type":"text"}]}`: {
			"content block 1 is not an object", "content block 2 has no type", "content block 3 has no type",
			"content block 4 has a type that MCP doesn't define", "content block 5 has no text string",
		},
		`{"content":[{"type":"image","data":"x"},{"type":"resource"},{"type":"resource","resource":{"uri":"a:b"}}],"structuredContent":[],"isError":"yes"}`: {
			"content block 1 has no mimeType string", "content block 2 has no resource with uri and text or blob",
			"content block 3 has no resource with uri and text or blob", "structuredContent is not an object", "isError is neither true nor false",
		},
	} {
		var result views.TryResult
		readResult(&result, []byte(raw))
		if diff := cmp.Diff(want, result.Oddities); diff != "" || !result.OK {
			t.Errorf("readResult(%s): ok = %v, oddities (-want +got):\n%s", raw, result.OK, diff)
		}
	}
	for _, n := range []int{maxOddities - 1, maxOddities, maxOddities + 1} {
		var result views.TryResult
		readResult(&result, []byte(`{"content":[`+strings.TrimSuffix(strings.Repeat("{},", n), ",")+`]}`))
		if got := len(result.Oddities); got != min(n, maxOddities) {
			t.Errorf("%d oddities: reported %d, want %d", n, got, min(n, maxOddities))
		}
	}
}
