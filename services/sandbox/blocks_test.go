package sandbox_test

import (
	"strings"
	"testing"

	"mcpgateway/services/sandbox"
)

func TestBlocks(t *testing.T) {
	const (
		image = `{"type":"image","data":"AA==","mimeType":"image/png"}`
		audio = `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`
		link  = `{"type":"resource_link","uri":"file:///a","name":"a"}`
		file  = `{"type":"resource","resource":{"uri":"file:///a","text":"words"}}`
		blob  = `{"type":"resource","resource":{"uri":"file:///a","blob":"AA=="}}`
		text  = `{"type":"text","text":"a"}`
	)
	for _, tt := range []struct{ value, want string }{
		{image, image},
		{audio, audio},
		{link, link},
		{file, file},
		{blob, blob},
		{`{"content":[` + text + `,` + image + `]}`, text + " " + image},
		{`[` + image + `,` + link + `]`, image + " " + link},
		{`[{"content":[` + image + `]},{"content":[` + text + `,` + file + `]}]`, image + " " + text + " " + file},
		{`["a",` + image + `]`, text + " " + image},
		{`[ ` + text + ` , ` + blob + ` ]`, text + " " + blob},

		// Plain values.
		{`null`, ""},
		{`"image"`, ""},
		{`7`, ""},
		{``, ""},
		{`[]`, ""},
		{`{}`, ""},
		{text, ""},
		{`[` + text + `,"b"]`, ""},
		{`{"content":[]}`, ""},
		{`{"content":[` + text + `]}`, ""},
		{`{"content":[` + image + `],"more":1}`, ""},
		{`{"content":[` + image + `,{"type":"video"}]}`, ""},
		{`{"shot":` + image + `}`, ""},
		{`[` + image + `,7]`, ""},
		{`[` + image + `,null]`, ""},
		{`[[` + image + `]]`, ""},
		{`{"type":"image","data":"AA=="}`, ""},
		{`{"type":"image","mimeType":"image/png"}`, ""},
		{`{"type":"image","data":7,"mimeType":"image/png"}`, ""},
		{`{"Type":"image","Data":"AA==","MimeType":"image/png"}`, ""},
		{`{"type":"video","data":"AA==","mimeType":"video/mp4"}`, ""},
		{`{"type":"resource_link","uri":"file:///a"}`, ""},
		{`{"type":"resource","resource":{"uri":"file:///a"}}`, ""},
		{`{"type":"resource","resource":{"uri":"file:///a","text":"a","blob":"AA=="}}`, ""},
		{`{"type":"resource","uri":"file:///a","text":"a"}`, ""},
	} {
		blocks, ok := sandbox.Blocks([]byte(tt.value))
		var got []string
		for _, b := range blocks {
			got = append(got, string(b))
		}
		if joined := strings.Join(got, " "); joined != tt.want || ok != (tt.want != "") {
			t.Errorf("Blocks(%s) = %s, %v, want %s", tt.value, joined, ok, tt.want)
		}
	}
}
