// Package resultlimit_test reads results that are longer than resultLimit with the
// official SDK's client.
package resultlimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

const limit = 50_000

// bearer sends a key with every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, endpoint, key string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer{key}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone
	return session
}

func call(t *testing.T, s *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	return result
}

// texts returns the texts of a result.
func texts(r *mcp.CallToolResult) (all []string) {
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return all
}

var requestID = regexp.MustCompile(`"requestId":"[^"]+",`)

var readOn = regexp.MustCompile(`Read on(?: with|:) gateway_readResult (\{"id":"[^"]+","offset":\d+(?:,"limit":\d+)?\})`)

// next returns the arguments with which a note says to read on, or nil.
func next(t *testing.T, note string) map[string]any {
	t.Helper()
	found := readOn.FindStringSubmatch(note)
	if found == nil {
		return nil
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(found[1]), &arguments); err != nil {
		t.Fatal(err)
	}
	return arguments
}

// listing is a JSON result of about 5 MB.
func listing() string { return items(25_000) }

// items is a JSON result with n items.
func items(n int) string {
	var b strings.Builder
	b.WriteString(`{"total":1,"items":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"title":"Item \u00e9 %d","body":"%s","price":%d.50}`, i, i, strings.Repeat("text ", 30), i)
	}
	b.WriteString(`],"done":true}`)
	return b.String()
}

// prose is a text of about 300 kB with characters of one to four bytes.
func prose() string {
	return strings.Repeat("A line with é, €, 日本 and 😀.\n", 7_700)
}

func block(text string) string {
	quoted, _ := json.Marshal(text) // texts always marshal
	return `{"type":"text","text":` + string(quoted) + `}`
}

func tools() []upstreamtest.Tool {
	answer := func(name, output, result string) upstreamtest.Tool {
		return upstreamtest.Tool{
			Definition: `{"name":"` + name + `","inputSchema":{"type":"object"}` + output + `}`,
			Call:       func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) },
		}
	}
	const output = `,"outputSchema":{"type":"object"}`
	return []upstreamtest.Tool{
		answer("list", "", `{"content":[`+block(listing())+`]}`),
		answer("both", output, `{"content":[`+block(items(1000))+`],"structuredContent":`+items(1000)+`}`),
		answer("prose", "", `{"content":[`+block(prose())+`,{"type":"image","mimeType":"image/png","data":"`+strings.Repeat("AAAA", limit)+`"}],"_meta":{"k":1}}`),
		answer("fail", "", `{"content":[`+block(prose())+`],"isError":true}`),
		answer("split", output, `{"content":[`+block("a summary")+`],"structuredContent":`+items(1000)+`}`),
		answer("exact", "", `{"content":[`+block(strings.Repeat("x", limit))+`]}`),
		answer("longer", "", `{"content":[`+block(strings.Repeat("x", limit+1))+`]}`),
		answer("shorter", output, `{"content":[`+block(strings.Repeat("x", limit-1))+`],"structuredContent":{"a":1}}`),
	}
}

// world is an application with the projects p and q.
type world struct {
	*routestest.App
	base string
	key  string
}

func newWorld(t *testing.T, dsn, project string) *world {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: tools()}).Start(t)
	w := &world{App: routestest.New(t, dsn)}
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{%s,"mcpServers":{"up":{"url":%q},"free":{"url":%q,"resultLimit":0}},"toolsets":{"some":{"include":["up__*"]}}},"q":{"resultLimit":%d,"mcpServers":{"up":{"url":%q}}}}}`,
		project, up, up, limit, up))
	w.Sync(t, "p", "up", "free")
	w.Sync(t, "q", "up")
	w.base = w.Serve(t)
	_, w.key = w.Key(t, "p", 0)
	return w
}

func (w *world) endpoint(slug string) string { return w.base + "/v1/mcp/" + slug + "/request" }

const limited = `"resultLimit":50000,"codeMode":{"enabled":true}`

func TestLongJSONIsReadPieceByPiece(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	result := call(t, s, "up__list", nil)
	all := texts(result)
	if result.StructuredContent != nil || len(all) != 2 || len(all[0]) > limit || !json.Valid([]byte(all[0])) {
		t.Fatalf("%d texts, the first has %d bytes; structured content: %v", len(all), len(all[0]), result.StructuredContent != nil)
	}
	for _, want := range []string{"JSON of " + strconv.Itoa(len(listing())) + " bytes", "of 25000 elements of /items", "1 of 3 members", `"find":"text"`, "await gateway.load("} {
		if !strings.Contains(all[1], want) {
			t.Errorf("the note %q has no %q", all[1], want)
		}
	}
	type part struct {
		Total *int              `json:"total"`
		Items []json.RawMessage `json:"items"`
		Done  *bool             `json:"done"`
	}
	var items []json.RawMessage
	var done bool
	pages := 0
	for page, note := all[0], all[1]; ; pages++ {
		var p part
		if err := json.Unmarshal([]byte(page), &p); err != nil {
			t.Fatalf("page %d: %v", pages, err)
		}
		items, done = append(items, p.Items...), done || p.Done != nil
		arguments := next(t, note)
		if arguments == nil {
			break
		}
		arguments["limit"] = 60_000
		read := texts(call(t, s, "gateway_readResult", arguments))
		if page, note = read[0], read[1]; len(page) > 61_000 {
			t.Fatalf("a page has %d bytes", len(page))
		}
	}
	var whole part
	if err := json.Unmarshal([]byte(listing()), &whole); err != nil {
		t.Fatal(err)
	}
	if len(items) != len(whole.Items) || !done {
		t.Fatalf("read %d items in %d pages, done %v", len(items), pages, done)
	}
	for i := range items {
		if string(items[i]) != string(whole.Items[i]) {
			t.Fatalf("item %d = %s, want %s", i, items[i], whole.Items[i])
		}
	}
	found := texts(call(t, s, "gateway_readResult", map[string]any{"id": next(t, all[1])["id"], "find": "ITEM é 24999"}))[0]
	if !strings.Contains(found, "1 match. ") || !strings.Contains(found, "/items/24999/title") {
		t.Errorf("find: %s", found)
	}
	code := call(t, s, "gateway_executeTool", map[string]any{"code": `const r = await up.both(); return r.items.length`})
	if got := texts(code)[0]; got != "1000" {
		t.Errorf("code received %.300s", got)
	}
}

func TestLongTextIsReadPieceByPiece(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	for _, tool := range []string{"prose", "fail"} {
		result := call(t, s, "up__"+tool, nil)
		all := texts(result)
		if len(all) != 2 || len(all[0]) > limit || result.IsError != (tool == "fail") {
			t.Fatalf("%s: %d texts, error %v", tool, len(all), result.IsError)
		}
		if tool == "prose" {
			if image, ok := result.Content[2].(*mcp.ImageContent); !ok || len(image.Data) != 3*limit || result.Meta["k"] == nil {
				t.Errorf("the image or _meta is missing: %v", result.Meta)
			}
		}
		whole := all[0]
		for arguments := next(t, all[1]); arguments != nil; {
			read := texts(call(t, s, "gateway_readResult", arguments))
			whole += read[0]
			arguments = next(t, read[1])
		}
		if whole != prose() {
			t.Errorf("%s: read %d bytes, want %d", tool, len(whole), len(prose()))
		}
		if tool == "prose" {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "gateway_readResult", Arguments: map[string]any{"id": next(t, all[1])["id"], "offset": len("A line with ") + 1}})
			if err == nil || !strings.Contains(err.Error(), "inside a character. Use 12 or 14.") {
				t.Errorf("offset inside a character: %v", err)
			}
		}
	}
}

func TestResultLimitIsExact(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	for tool, want := range map[string]int{"up__shorter": 1, "up__exact": 1, "up__longer": 2, "free__longer": 1, "free__list": 1, "free__both": 1} {
		if got := texts(call(t, s, tool, nil)); len(got) != want {
			t.Errorf("%s has %d texts, want %d", tool, len(got), want)
		}
	}
	both := call(t, s, "up__both", nil)
	if all := texts(both); len(all) != 2 || both.StructuredContent != nil {
		t.Errorf("a text and the same structured content became %d texts and %.80v", len(all), both.StructuredContent)
	}
	split := call(t, s, "up__split", nil)
	if all := texts(split); len(all) != 3 || all[0] != "a summary" || !json.Valid([]byte(all[1])) || next(t, all[2]) == nil || split.StructuredContent != nil {
		t.Errorf("a summary and long structured content became %d texts", len(all))
	}
	inner := call(t, s, "gateway_executeTool", map[string]any{"name": "up__longer", "arguments": map[string]any{}})
	if len(texts(inner)) != 2 {
		t.Error("the answer of executeTool was not cut")
	}
	listed := map[string]bool{}
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed[tool.Name] = tool.OutputSchema != nil
	}
	if output, found := listed["gateway_readResult"]; !found || output || listed["up__both"] || !listed["free__both"] {
		t.Errorf("listed %v", listed)
	}
	w.Apply(t, `{"projects":{"p":{"resultLimit":0}}}`)
	routestest.Eventually(t, "without a limit the list is complete", func() bool {
		fresh := connect(t, w.endpoint("p"), w.key) // a client may keep its list for 30 s
		for tool, err := range fresh.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Name == "gateway_readResult" || tool.Name == "up__both" && tool.OutputSchema == nil {
				return false
			}
		}
		return true
	})
}

func TestArtifactsAreNotFoundByOthers(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, limited)
		s := connect(t, w.endpoint("p"), w.key)
		id := next(t, texts(call(t, s, "up__longer", nil))[1])["id"]
		read := func(endpoint, key string, id any) string {
			_, err := connect(t, endpoint, key).CallTool(t.Context(), &mcp.CallToolParams{Name: "gateway_readResult", Arguments: map[string]any{"id": id}})
			var wire *jsonrpc.Error
			switch {
			case err == nil:
				return ""
			case errors.As(err, &wire):
				return fmt.Sprintf("%d %s %s", wire.Code, strings.ReplaceAll(wire.Message, fmt.Sprint(id), "ID"), requestID.ReplaceAll(wire.Data, nil))
			}
			return err.Error()
		}
		if why := read(w.endpoint("p"), w.key, id); why != "" {
			t.Fatalf("the owner: %s", why)
		}
		_, other := w.Key(t, "p", 0)
		_, elsewhere := w.Key(t, "q", 0)
		want := read(w.endpoint("p"), w.key, "result-absent")
		if !strings.HasPrefix(want, "-32602 Nothing is stored for you as ID.") {
			t.Fatalf("absent: %s", want)
		}
		for name, got := range map[string]string{
			"another key": read(w.endpoint("p"), other, id), "another project": read(w.endpoint("q"), elsewhere, id),
			"another endpoint": read(w.base+"/v1/mcp/p/toolsets/some/request", w.key, id),
		} {
			if got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		replica := routestest.New(t, dsn)
		if why := read(replica.Serve(t)+"/v1/mcp/p/request", w.key, id); why != "" {
			t.Errorf("another replica: %s", why)
		}
		if err := w.Services.DB.Model(&models.Artifact{}).Where("name = ?", id).UpdateColumn("expires_at", w.Services.DB.NowFunc().UTC()).Error; err != nil {
			t.Fatal(err)
		}
		if got := read(w.endpoint("p"), w.key, id); got != want {
			t.Errorf("expired: %s, want %s", got, want)
		}
	})
}

// TestResultsWithoutLimitAreUnchanged compares the bytes of responses by every
// transport with those of a project without the setting.
func TestResultsWithoutLimitAreUnchanged(t *testing.T) {
	with, without := newWorld(t, modelstest.SQLite(t), `"resultLimit":5242880`), newWorld(t, modelstest.SQLite(t), `"resultLimit":0`)
	for _, version := range []string{"2025-11-25", "2025-03-26", routestest.Stateless} {
		for _, tool := range []string{"up__shorter", "up__both", "free__both", "up__fail"} {
			var got []string
			for _, w := range []*world{with, without} {
				c := (&routestest.Client{Endpoint: w.endpoint("p"), Token: w.key, Version: version}).Open(t)
				m, err := c.Call(t.Context(), tool, `{}`)
				if err != nil || m.Result == nil {
					t.Fatalf("%s, %s: %v %s%s", version, tool, err, m.Error, m.Body)
				}
				got = append(got, string(m.Result))
			}
			if got[0] != got[1] {
				t.Errorf("%s, %s: %.300s, want %.300s", version, tool, got[0], got[1])
			}
		}
	}
}

func TestEveryTransportCutsAnswers(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__longer","arguments":{}}}`
	for name, tt := range map[string]struct{ path, body string }{
		"request": {"/v1/mcp/p/request", body}, "batch": {"/v1/mcp/p/request", "[" + body + "]"}, "SSE bridge": {"/v1/mcp/p/sse", body}, "toolset": {"/v1/mcp/p/toolsets/some/request", body},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+w.key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := response.Write(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, `gateway_readResult {\"id\":\"result-`) || strings.Contains(text, strings.Repeat("x", limit+1)) {
			t.Errorf("%s: %.300s", name, text)
		}
	}
	c := (&routestest.Client{Endpoint: w.endpoint("p"), Token: w.key, Version: routestest.Stateless}).Open(t)
	m, err := c.Call(t.Context(), "up__longer", `{}`)
	if err != nil || !strings.Contains(string(m.Result), "gateway_readResult") || !strings.Contains(string(m.Result), `"resultType":"complete"`) {
		t.Errorf("stateless: %.300s, %v", m.Result, err)
	}
}

func TestReadResultIsStrict(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	for arguments, want := range map[string]string{
		`{}`:                               "id must be a string",
		`{"id":1}`:                         "id must be a string",
		`{"ID":"a"}`:                       `unknown argument "ID", did you mean "id"?`,
		`{"id":"a","offset":-1}`:           "offset must be a whole number from 0",
		`{"id":"a","limit":0}`:             "limit must be a whole number from 1 to 65536",
		`{"id":"a","limit":65537}`:         "limit must be a whole number from 1 to 65536",
		`{"id":"a","limit":"5"}`:           "limit must be a whole number",
		`{"id":"a","find":""}`:             "find must be a text of 1 to 1000 bytes",
		`{"id":"a/b"}`:                     "1 to 128 characters",
		`{"id":"a","find":"x","offset":0}`: "find cannot be combined",
		`{"id":"a","limit":65536}`:         "Nothing is stored for you as a",
	} {
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "gateway_readResult", Arguments: json.RawMessage(arguments)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arguments, err, want)
		}
	}
}
