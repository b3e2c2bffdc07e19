package playground

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	views "mcpgateway/views/admin"
)

func TestResultsOfAnotherShapeAreSaidToBe(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"content":[]}`: nil,
		`{"content":[{"type":"text","text":""},{"type":"image","data":"","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"},
			{"type":"resource_link","uri":"a:b","name":"n"},{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource","resource":{"uri":"a:b","blob":""}}],
			"structuredContent":{},"isError":false,"_meta":{}}`: nil,
		`{}`:              {"content is missing, which even a result without any has as an empty list"},
		`{"content":"x"}`: {"content is not a list"},
		`{"content":[7,{},{"type":7},{"type":"video"},{"type":"text"}]}`: {
			"part 1 of content is not an object", "part 2 of content has no type", "part 3 of content has no type",
			"part 4 of content has a type that MCP does not know", "part 5 of content has no text, as a text",
		},
		`{"content":[{"type":"image","data":"x"},{"type":"resource"},{"type":"resource","resource":{"uri":"a:b"}}],"structuredContent":[],"isError":"yes"}`: {
			"part 1 of content has no mimeType, as a text", "part 2 of content has no resource with uri and text or blob",
			"part 3 of content has no resource with uri and text or blob", "structuredContent is not an object", "isError is neither true nor false",
		},
	} {
		var result views.TryResult
		readResult(&result, []byte(raw))
		if diff := cmp.Diff(want, result.Oddities); diff != "" || !result.OK {
			t.Errorf("%s: ok is %v (-want +got):\n%s", raw, result.OK, diff)
		}
	}
	for _, n := range []int{maxOddities - 1, maxOddities, maxOddities + 1} {
		var result views.TryResult
		readResult(&result, []byte(`{"content":[`+strings.TrimSuffix(strings.Repeat("{},", n), ",")+`]}`))
		if got := len(result.Oddities); got != min(n, maxOddities) {
			t.Errorf("of %d oddities %d are named", n, got)
		}
	}
}
