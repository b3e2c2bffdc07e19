package codemode_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/services/codemode"
	"mcpgateway/services/codemode/blocks"
	"mcpgateway/services/sandbox"
)

// dispatcher implements Dispatcher with a function.
type dispatcher func(name string, arguments []byte) string

func (d dispatcher) Call(_ context.Context, name string, arguments []byte) ([]byte, error) {
	return []byte(d(name, arguments)), nil
}

func ofSize(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

func imageBlock(data string) string {
	return `{"type":"image","data":"` + data + `","mimeType":"image/png"}`
}

// gallery returns tools with blocks: shot__take returns an image of the
// requested size.
func gallery() ([]codemode.Tool, dispatcher) {
	tools := []codemode.Tool{
		tool("shot", "take", codemode.EffectRead), tool("shot", "both", codemode.EffectRead), tool("shot", "file", codemode.EffectRead),
		tool("shot", "kinds", codemode.EffectRead), tool("disk", "write", codemode.EffectWrite), tool("shot", "fails", codemode.EffectRead),
	}
	return tools, func(name string, arguments []byte) string {
		var in struct{ N int }
		_ = json.Unmarshal(arguments, &in) // only shot__take has n
		switch name {
		case "shot__take":
			return `{"content":[` + imageBlock(ofSize(in.N)) + `]}`
		case "shot__both":
			return `{"content":[{"type":"text","text":"a page"},` + imageBlock("AAAA") + `]}`
		case "shot__file":
			return `{"content":[{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x","blob":"AQID"},"annotations":{"priority":1}}]}`
		case "shot__kinds":
			return `{"content":[{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"file:///b","name":"b"},{"type":"resource","resource":{"uri":"file:///c","text":"c"}}]}`
		case "shot__fails":
			return `{"content":[{"type":"text","text":"too dark"},` + imageBlock("BBBB") + `],"isError":true}`
		default:
			return `{"content":[{"type":"text","text":"written"}],"structuredContent":` + string(arguments) + `}`
		}
	}
}

// contentOf returns the content blocks of an outcome for a client.
func contentOf(t *testing.T, out codemode.Outcome, unknown ...string) []string {
	t.Helper()
	raw, err := out.ToolResult(func(kind string) bool { return !slices.Contains(unknown, kind) })
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Content []json.RawMessage }
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, block := range result.Content {
		all = append(all, string(block))
	}
	return all
}

func TestReturnedBlocks(t *testing.T) {
	const (
		page = `{"type":"text","text":"a page"}`
		shot = `{"type":"image","data":"AAAA","mimeType":"image/png"}`
		one  = `{"type":"image","data":"AA==","mimeType":"image/png"}`
	)
	tools, d := gallery()
	r := runner(t, codemode.Options{})
	for _, tt := range []struct {
		name, code string
		want       []string
		result     string
	}{
		{"result of a tool", "return await shot.both({})", []string{page, shot}, `[{"type":"text","text":"a page"},{"type":"image","mimeType":"image/png","bytes":3}]`},
		{"block of a tool", "const { content } = await shot.both({});\nreturn content[1]", []string{shot}, `[{"type":"image","mimeType":"image/png","bytes":3}]`},
		{"array of blocks", "const { content } = await shot.both({});\nreturn content.reverse()", []string{shot, page}, ""},
		{"copies", "const { content } = await shot.both({});\nconst copy = structuredClone(content[1]);\nreturn [copy, { ...copy }]", []string{shot, shot}, ""},
		{"several results", "return await Promise.all([1, 1].map((n) => shot.take({ n })))", []string{one, one}, ""},
		{"text and block", "const { content } = await shot.take({ n: 1 });\nreturn ['one', content[0]]", []string{`{"type":"text","text":"one"}`, one}, ""},
		{"last expression", "await shot.take({ n: 1 })", []string{one}, ""},
		{"binary resource", "return await shot.file({})", []string{`{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x","blob":"AQID"},"annotations":{"priority":1}}`}, `[{"type":"resource","mimeType":"application/x","uri":"file:///a.bin","bytes":3}]`},
		{"made by code", "return { type: 'image', data: btoa('abc'), mimeType: 'image/png' }", []string{`{"type":"image","data":"YWJj","mimeType":"image/png"}`}, ""},
		{"not base64", "return { type: 'image', data: '!', mimeType: 'image/png' }", []string{`{"type":"text","text":"[image, image/png left out: its data is not base64]"}`}, ""},
		{"blocks with logs", "console.log('took it');\nreturn await shot.take({ n: 1 })", []string{one, `{"type":"text","text":"--- logs ---\n[log] took it"}`}, ""},
		{"content of a failure", "try { await shot.fails({}) } catch (e) { return e.content[1] }", []string{`{"type":"image","data":"BBBB","mimeType":"image/png"}`}, ""},
		{"plain value", "return { n: 1 }", []string{`{"type":"text","text":"{\"n\":1}"}`}, `{"n":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := run(t, r, codemode.Request{ProjectID: "p", Code: tt.code, Tools: tools}, d)
			if got := contentOf(t, out); !slices.Equal(got, tt.want) || len(out.Hints) > 0 {
				t.Errorf("content %q, want %q\n%+v %q", got, tt.want, out.Error, out.Hints)
			}
			if tt.result != "" && string(out.Result) != tt.result {
				t.Errorf("result %s, want %s", out.Result, tt.result)
			}
		})
	}
}

// TestBlocksUnknownToClient replaces blocks of types that a client doesn't know.
func TestBlocksUnknownToClient(t *testing.T) {
	tools, d := gallery()
	out := run(t, runner(t, codemode.Options{}), codemode.Request{ProjectID: "p", Code: "return await shot.kinds({})", Tools: tools}, d)
	want := []string{
		`{"type":"text","text":"[audio, audio/wav, 1 bytes; this client can't display it]"}`,
		`{"type":"text","text":"[link to b, file:///b; this client can't display it]"}`,
		`{"type":"resource","resource":{"uri":"file:///c","text":"c"}}`,
	}
	if got := contentOf(t, out, "audio", "resource_link"); !slices.Equal(got, want) {
		t.Errorf("content %q, want %q", got, want)
	}
}

func TestBlockSizes(t *testing.T) {
	tools, d := gallery()
	r := runner(t, codemode.Options{})
	for name, code := range map[string]string{
		"of a tool":     "return await shot.take({ n: %d })",
		"text resource": "return { type: 'resource', resource: { uri: 'file:///a', text: 'x'.repeat(%d) } }",
	} {
		for size, fits := range map[int]bool{blocks.MaxBlock - 1: true, blocks.MaxBlock: true, blocks.MaxBlock + 1: false} {
			out := run(t, r, codemode.Request{ProjectID: "p", Code: fmt.Sprintf(code, size), Tools: tools}, d)
			content := contentOf(t, out)
			shown := len(content) == 1 && !strings.HasPrefix(content[0], `{"type":"text"`) && len(content[0]) >= size
			if !out.OK || shown != fits || (out.Truncated == nil) != fits {
				t.Errorf("%s, %d bytes: shown %v, want %v; %+v", name, size, shown, fits, out.Error)
			}
			if !fits && !strings.Contains(content[0], "a block has at most 5242880 bytes") {
				t.Errorf("%s, %d bytes: %.200s", name, size, content)
			}
		}
	}
	// Four blocks of the maximum size are the maximum of a result, and of a run.
	for n, left := range map[int]int{3: 0, 4: 0, 5: 1} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: fmt.Sprintf("const all = [];\nfor (let i = 0; i < %d; i++) all.push(await shot.take({ n: %d }));\nreturn all", n, blocks.MaxBlock), Tools: tools}, d)
		if content := contentOf(t, out); !out.OK || len(content) != n || (out.Truncated != nil) != (left > 0) || left > 0 && out.Truncated.Blocks != left {
			t.Errorf("%d blocks: %d in the content, truncated %+v, want %d left out", n, len(content), out.Truncated, left)
		}
		out = run(t, r, codemode.Request{ProjectID: "p", Code: fmt.Sprintf("const { content } = await shot.take({ n: %d });\nreturn Array(%d).fill(content[0])", blocks.MaxBlock, n), Tools: tools}, d)
		if !out.OK || (out.Truncated != nil) != (left > 0) || left > 0 && out.Truncated.Blocks != left {
			t.Errorf("one block %d times: truncated %+v, want %d left out", n, out.Truncated, left)
		}
	}
}

func TestNumberOfBlocks(t *testing.T) {
	tools, d := gallery()
	r := runner(t, codemode.Options{})
	for n, left := range map[int]int{sandbox.MaxBlocks - 1: 0, sandbox.MaxBlocks: 0, sandbox.MaxBlocks + 1: 1, sandbox.MaxBlocks + 9: 9} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: fmt.Sprintf("const { content } = await shot.take({ n: 1 });\nreturn Array(%d).fill(content[0])", n), Tools: tools}, d)
		content := contentOf(t, out)
		if want := min(n, sandbox.MaxBlocks) + min(left, 1); len(content) != want || (out.Truncated != nil) != (left > 0) || left > 0 && out.Truncated.Blocks != left {
			t.Errorf("%d blocks: %d in the content, want %d; truncated %+v", n, len(content), want, out.Truncated)
		}
	}
}

// TestTextBeforeBlocks checks that the text of a result with blocks has the
// limit of other results.
func TestTextBeforeBlocks(t *testing.T) {
	tools, d := gallery()
	r := runner(t, codemode.Options{})
	for size, cut := range map[int]bool{sandbox.MaxResult - 1: false, sandbox.MaxResult: false, sandbox.MaxResult + 1: true} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: fmt.Sprintf("const { content } = await shot.take({ n: 1 });\nreturn ['x'.repeat(%d), content[0]]", size), Tools: tools}, d)
		content := contentOf(t, out)
		if len(content) != 2 || strings.Contains(content[0], "[truncated: the whole text has") != cut || len(content[0]) > sandbox.MaxResult+100 || len(out.Result) > sandbox.MaxResult {
			t.Errorf("text of %d bytes: %d blocks, text of %d bytes, result of %d", size, len(content), len(content[0]), len(out.Result))
		}
	}
}

// TestBlockDataInArguments passes the data of a block to another tool.
func TestBlockDataInArguments(t *testing.T) {
	tools, d := gallery()
	r := runner(t, codemode.Options{})
	for _, tt := range []struct{ name, code, want string }{
		{"data", "const { content } = await shot.both({});\nreturn await disk.write({ data: content[1].data })", `{"data":"AAAA"}`},
		{"data URL", "const { content } = await shot.both({});\nreturn await disk.write({ url: `data:image/png;base64,${content[1].data}` })", `{"url":"data:image/png;base64,AAAA"}`},
		{"block", "const { content } = await shot.file({});\nreturn await disk.write({ blocks: content })", `{"blocks":[{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x","blob":"AQID"},"annotations":{"priority":1}}]}`},
		{"handle of another run", "return await disk.write({ data: 'gateway-block-0000000000000001-00000' })", `{"data":"gateway-block-0000000000000001-00000"}`},
	} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: tt.code, Tools: tools, Seed: &codemode.Seed{Random: 7}}, d)
		if !out.OK || string(out.Result) != tt.want {
			t.Errorf("%s: %s, want %s; %+v", tt.name, out.Result, tt.want, out.Error)
		}
	}
	for _, tt := range []struct{ name, code, want string }{
		{"arguments above their limit", "const { content } = await shot.take({ n: 800000 });\nreturn await disk.write({ data: content[0].data })", "The call was not sent: the arguments with the data of their blocks have more than 1048576 bytes."},
		{"data repeated", "const { content } = await shot.take({ n: 100000 });\nreturn await disk.write({ data: Array(1000).fill(content[0].data) })", "have more than 1048576 bytes"},
		{"data that was dropped", "const { content } = await shot.take({ n: 5242881 });\nreturn await disk.write({ data: content[0].data })", "the data of this block was dropped"},
		{"atob", "const { content } = await shot.both({});\nreturn atob(content[1].data)", "The data of a block stays outside the code. Return the block, or pass its data to a tool."},
	} {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: tt.code, Tools: tools}, d)
		if out.OK || !strings.Contains(out.Error.Message, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.name, out.Error, tt.want)
		}
	}
}

// TestBinaryLeavesRoomForText checks that binary data doesn't count toward the
// limit of a tool's result.
func TestBinaryLeavesRoomForText(t *testing.T) {
	tools, d := gallery()
	out := run(t, runner(t, codemode.Options{}), codemode.Request{ProjectID: "p", Code: fmt.Sprintf("const r = await shot.take({ n: %d });\nreturn r.content.length", blocks.MaxBlock), Tools: tools}, d)
	if !out.OK || string(out.Result) != "1" || out.Calls[0].ResultBytes > 200 {
		t.Errorf("%s %+v %+v", out.Result, out.Error, out.Calls)
	}
}
