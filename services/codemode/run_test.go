package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/sandbox/sandboxtest"
)

// tools implements Dispatcher for tests.
type tools struct {
	mu    sync.Mutex
	calls []string
	hang  chan struct{} // closed by the first call of slow__hang
}

func newTools() *tools { return &tools{hang: make(chan struct{})} }

func (d *tools) Call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	d.mu.Lock()
	d.calls = append(d.calls, name+" "+string(arguments))
	d.mu.Unlock()
	switch name {
	case "math__add":
		var in struct{ A, B float64 }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":"ignored"}],"structuredContent":{"sum":%v}}`, in.A+in.B), nil
	case "text__plain":
		return []byte(`{"content":[{"type":"text","text":"just words"}]}`), nil
	case "text__json":
		return []byte(`{"content":[{"type":"text","text":" [1,2,{\"a\":\"ü\"}]"}]}`), nil
	case "text__image":
		return []byte(`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`), nil
	case "text__nothing":
		return []byte(`{"content":[]}`), nil
	case "text__fails":
		return []byte(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`), nil
	case "text__big":
		var in struct{ N int }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, err
		}
		return []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", in.N) + `"}]}`), nil
	case "my-server__get-it", "text__write", "text__delete":
		return []byte(`{"content":[{"type":"text","text":"done"}]}`), nil
	case "gateway_searchMcpForTask":
		return []byte(`{"content":[],"structuredContent":` + string(arguments) + `}`), nil
	case "slow__hang", "slow__write":
		d.mu.Lock()
		select {
		case <-d.hang:
		default:
			close(d.hang)
		}
		d.mu.Unlock()
		<-ctx.Done()
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "ended: %v", ctx.Err())
	case "rpc__error":
		return nil, errors.New(`{"code":-32000,"message":"upstream says no"}`)
	default:
		return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "there is no tool %q", name)
	}
}

func (d *tools) made() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.calls...)
}

func tool(alias, name string, effect codemode.Effect) codemode.Tool {
	return codemode.Tool{Name: alias + "__" + name, Alias: alias, ToolName: name, Effect: effect, Definition: []byte(`{"name":"` + name + `"}`)}
}

func catalog() []codemode.Tool {
	return []codemode.Tool{
		tool("math", "add", codemode.EffectRead), tool("my-server", "get-it", codemode.EffectRead), tool("rpc", "error", codemode.EffectRead),
		tool("slow", "hang", codemode.EffectRead), tool("slow", "write", codemode.EffectWrite),
		tool("text", "plain", codemode.EffectRead), tool("text", "json", codemode.EffectRead), tool("text", "image", codemode.EffectRead),
		tool("text", "nothing", codemode.EffectRead), tool("text", "fails", codemode.EffectRead), tool("text", "big", codemode.EffectRead),
		tool("text", "write", codemode.EffectWrite), tool("text", "delete", codemode.EffectUnknown),
		tool("text", "then", codemode.EffectRead), tool("text", "__proto__", codemode.EffectRead),
	}
}

func runner(t testing.TB, o codemode.Options) *codemode.Runner {
	t.Helper()
	r := newRunner(o)
	t.Cleanup(r.Close)
	return r
}

// newRunner returns a runner whose children start without a detour.
func newRunner(o codemode.Options) *codemode.Runner {
	if o.Command == nil {
		o.Command = sandboxtest.Command()
	}
	return codemode.NewRunner(o)
}

func request(code string) codemode.Request {
	return codemode.Request{ProjectID: "p", Code: code, Tools: catalog()}
}

func run(t testing.TB, r *codemode.Runner, q codemode.Request, d codemode.Dispatcher) codemode.Outcome {
	t.Helper()
	out, err := r.Run(t.Context(), q, d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCodeForms(t *testing.T) {
	cases := []struct{ name, code, want string }{
		{"body with return", "const a: number = 1;\nreturn a + 1", "2"},
		{"body with await and return", "const r = await math.add({a: 1, b: 2});\nreturn r.sum", "3"},
		{"last expression", "const r = await math.add({a: 1, b: 2})\nr.sum", "3"},
		{"object as the last expression", "const a = 1;\n({a})", `{"a":1}`},
		{"promise as the last expression", "math.add({a: 1, b: 1})", `{"sum":2}`},
		{"last expression on several lines", "[1,\n 2,\n 3].map((x) => {\n  return x * 2\n})", "[2,4,6]"},
		{"template as the last expression", "const n = 2;\n`a\n  ${n}\nb`", `"a\n  2\nb"`},
		{"conditional return and a last expression", "if (input) { return 1 }\n2", "2"},
		{"if without a result", "if (true) { 1 } else { 2 }", "null"},
		{"declaration without a result", "const a = 1", "null"},
		{"labelled loop without a result", "a: for (;;) { break a }", "null"},
		{"arrow function", "async () => { return 7 }", "7"},
		{"arrow function with input", "async (input: {n: number}) => input.n", "5"},
		{"arrow function in parentheses", "(async () => 7)()", "7"},
		{"named function", "async function main(input) { return helper(input.n) }\nfunction helper(n) { return n * 2 }", "10"},
		{"function with any name", "function anything() { return 3 }", "3"},
		{"constant function", "const main = async () => 4", "4"},
		{"called function", "async function main() { return 3 }\nawait main()", "3"},
		{"exported default function", "export default async function main(input: any): Promise<number> { return input.n }", "5"},
		{"exported default arrow function", "export default async () => 9", "9"},
		{"exported default without a name", "export default async function () { return 9 }", "9"},
		{"exported function", "const k = 3;\nexport async function main() { return k }", "3"},
		{"exported constant", "export const main = () => 8", "8"},
		{"export clause", "const a = () => 1, b = () => 2;\nexport { a as x, b as default }", "2"},
		{"exported value", "export default { a: 1 }", `{"a":1}`},
		{"Markdown fence", "```ts\nreturn 6\n```", "6"},
		{"Markdown fence without a language", "\n```\nreturn 6\n```\n", "6"},
		{"fenced export", "```typescript\nexport default () => 6\n```", "6"},
		{"the word import in a string", `return "import x from 'y'; export"`, `"import x from 'y'; export"`},
		{"types, enums, generics", "enum E { A = 4 }\ninterface I { e: E }\nconst f = <T,>(x: T): T => x;\nconst i = f<I>({ e: E.A } as I)!;\nreturn i.e satisfies number", "4"},
		{"nothing", "// nothing\n", "null"},
		{"comment at the end", "return 1 // one", "1"},
		{"byte order mark", "\ufeffreturn 1", "1"},
		{"carriage returns", "const a = 1\r\na + 1\r\n", "2"},
		{"for await", "let n = 0; for await (const x of [Promise.resolve(1), 2]) n += x; return n", "3"},
	}
	// These children are this binary, so the race detector also covers them.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, codemode.Options{Command: []string{self, sandbox.WorkerCommand}})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := request(c.code)
			q.Input = json.RawMessage(`{"n":5}`)
			if strings.Contains(c.code, "if (input)") {
				q.Input = nil
			}
			out := run(t, r, q, newTools())
			if !out.OK || string(out.Result) != c.want {
				t.Errorf("result %s, want %s; error %+v", out.Result, c.want, out.Error)
			}
		})
	}
}

func TestToolResults(t *testing.T) {
	cases := []struct{ code, want string }{
		{"return await math.add({a: 2, b: 3})", `{"sum":5}`},
		{"return await text.plain()", `"just words"`},
		{"return await text.json({})", `[1,2,{"a":"ü"}]`},
		{"return await text.image()", `[{"type":"image","mimeType":"image/png","bytes":1}]`},
		{"return await text.nothing()", `{"content":[]}`},
		{`return await my$_server["get-it"]()`, `"done"`},
		{`return await gateway.call("math__add", {a: 1, b: 1})`, `{"sum":2}`},
		{`return await gateway.search("find a thing")`, `{"task":"find a thing"}`},
		{`return await gateway.search({query: "x", limit: 2})`, `{"query":"x","limit":2}`},
		{"try { await text.fails(); } catch (e) { return [e instanceof ToolError, e instanceof Error, e.name, e.tool, e.message, e.seq, e.content] }",
			`[true,true,"ToolError","text__fails","no such file",1,[{"type":"text","text":"no such file"}]]`},
		{"try { await rpc.error() } catch (e) { return e.message }", `"upstream says no"`},
		{`try { await gateway.call("no__such") } catch (e) { return e.message }`, `"there is no tool \"no__such\""`},
		{`try { await gateway.call("gateway_executeTool", {code: "1"}) } catch (e) { return e.message }`, `"Code can't run code. Call the tools directly."`},
		{"try { await text.plain([1]) } catch (e) { return e.message }", `"text__plain: Arguments must be a single object."`},
	}
	r := runner(t, codemode.Options{})
	for _, c := range cases {
		out := run(t, r, request(c.code), newTools())
		if !out.OK || string(out.Result) != c.want {
			t.Errorf("%s\n = %s, want %s; error %+v", c.code, out.Result, c.want, out.Error)
		}
	}
}

func TestErrorPositions(t *testing.T) {
	cases := []struct {
		name, code   string
		phase        sandbox.Phase
		line, column int
		message      string
	}{
		{"syntax error", "const a = 1;\nconst b = ;\n", sandbox.PhaseParse, 2, 11, "Unexpected"},
		{"unclosed brace", "if (true) {\n", sandbox.PhaseParse, 2, 1, "not closed"},
		{"extra closing brace", "return 1 }\nfunction x() {", sandbox.PhaseParse, 1, 0, "brace"},
		{"import", "const a = 1\nimport fs from 'fs'\nfs.x()", sandbox.PhaseParse, 2, 1, "not supported"},
		{"re-export", "export * from 'fs'", sandbox.PhaseParse, 1, 1, "not supported"},
		{"throw", "const a: string = 'x';\n\n  throw new TypeError('no ' + a)", sandbox.PhaseRuntime, 3, 13, "no x"},
		{"throw in a function", "type T = {\n  a: 1\n}\nfunction f() {\n  null.x\n}\nf()", sandbox.PhaseRuntime, 5, 3, "null"},
		{"throw in a fence", "```ts\nthrow new Error('x')\n```", sandbox.PhaseRuntime, 2, 11, "x"},
		{"throw in an export", "interface A {\n}\nexport default async () => {\n  throw new Error('x')\n}", sandbox.PhaseRuntime, 4, 13, "x"},
		{"throw after an await", "await math.add({a: 1, b: 2})\nundefinedName()", sandbox.PhaseRuntime, 2, 1, "undefinedName"},
		{"tool error", "await text.plain();\nawait text.fails()", sandbox.PhaseRuntime, 0, 0, "no such file"},
		{"require", "const fs = require('fs')", sandbox.PhaseRuntime, 1, 0, "require"},
		{"strict mode", "undeclared = 1", sandbox.PhaseRuntime, 1, 0, "undeclared"},
		{"thrown string", "throw 'plain'", sandbox.PhaseRuntime, 0, 0, "plain"},
		{"promise that never settles", "await new Promise(() => {})", sandbox.PhaseRuntime, 0, 0, "never settles"},
		{"circular result", "const a = {}; a.a = a; return a", sandbox.PhaseRuntime, 0, 0, "converted to JSON"},
		{"assignment to a constant", "console = 1", sandbox.PhaseRuntime, 1, 0, "read-only"},
	}
	r := runner(t, codemode.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := run(t, r, request(c.code), newTools())
			if out.OK || out.Error == nil {
				t.Fatalf("run succeeded with %s, want an error", out.Result)
			}
			e := out.Error
			if e.Phase != c.phase || !strings.Contains(e.Message, c.message) {
				t.Errorf("phase %s, message %q; want %s and %q", e.Phase, e.Message, c.phase, c.message)
			}
			if c.line > 0 && e.Line != c.line || c.column > 0 && e.Column != c.column {
				t.Errorf("position %d:%d, want %d:%d (%s)", e.Line, e.Column, c.line, c.column, e.Message)
			}
			for _, frame := range e.Stack {
				if strings.Contains(frame, "native") || strings.Contains(frame, "prelude") {
					t.Errorf("stack = %q", frame)
				}
			}
		})
	}
}

func TestRuntimeGlobals(t *testing.T) {
	cases := []struct{ name, code, want string }{
		{"no fetch", "return typeof fetch", `"undefined"`},
		{"no fetch on the global object", `return "fetch" in globalThis`, `false`},
		{"no process object", "return [typeof process, typeof require, typeof Deno, typeof std, typeof os]", `["undefined","undefined","undefined","undefined","undefined"]`},
		{"host removed", `return [typeof host, "host" in globalThis, Object.getOwnPropertyNames(globalThis).filter((n) => n.includes("names"))]`, `["undefined",false,[]]`},
		{"frozen namespaces", `try { text.plain = 1; return "changed" } catch (e) { return [e.name, Object.isFrozen(text), Object.getPrototypeOf(text)] }`, `["TypeError",true,null]`},
		{"unusual member names", `return [typeof text.then, typeof text["__proto__"], "constructor" in text]`, `["function","function",false]`},
		{"shadowed namespace", "const text = 1; return text", `1`},
		{"input constant", "return input", `{"n":[1,"é"]}`},
		{"structuredClone", `const m = new Map([[1, {a: [1]}]]); const a = {m, d: new Date(0), s: new Set([1])}; a.self = a;
			const b = structuredClone(a); return [b !== a, b.self === b, [...b.m.get(1).a], b.d.getTime(), b.s.has(1)]`, `[true,true,[1],0,true]`},
		{"TextEncoder and TextDecoder", `return [[...new TextEncoder().encode("aé€😀\ud800")], new TextDecoder().decode(new Uint8Array([0xef,0xbb,0xbf,97,0xc3,0xa9,0xe2,0x82,0xac,0xf0,0x9f,0x98,0x80,0xff,0xc0,0x80,0xed,0xa0,0x80,0xe2,0x82]))]`,
			`[[97,195,169,226,130,172,240,159,152,128,239,191,189],"aé€😀�������"]`},
		{"atob and btoa", `let bad; try { btoa("€") } catch (e) { bad = e.name } return [btoa("a\xff"), atob("Yf8=") === "a\xff", bad]`, `["Yf8=",true,"RangeError"]`},
		{"URL", `const u = new URL("../b?x=1&y=a%20b#h", "https://user:pw@Example.com:443/a/c"); u.searchParams.append("z", "ü &"); return [u.href, u.origin, u.pathname, u.searchParams.get("y"), u.hash, String(new URLSearchParams({a: "1 2"})), URL.canParse("nope")]`,
			`["https://user:pw@example.com/b?x=1&y=a+b&z=%C3%BC+%26#h","https://example.com","/b","a b","#h","a=1+2",false]`},
		{"timer order", `const out = []; await new Promise((done) => { setTimeout(() => { out.push(2); done() }, 20); setTimeout((x) => out.push(x), 5, 1); clearTimeout(setTimeout(() => out.push("never"), 1)) }); return out`, `[1,2]`},
		{"maps, sets and big integers as JSON", `return {m: new Map([["a", 1n]]), s: new Set([1]), e: new TypeError("x"), d: new Date(0)}`, `{"m":{"a":"1"},"s":[1],"e":{"name":"TypeError","message":"x"},"d":"1970-01-01T00:00:00.000Z"}`},
		{"clock in a busy loop", `const t = Date.now(); let n = 0; while (Date.now() - t < 50) n++; return n > 100`, `true`},
	}
	r := runner(t, codemode.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := request(c.code)
			q.Input = json.RawMessage(`{"n":[1,"é"]}`)
			out := run(t, r, q, newTools())
			if string(out.Result) != c.want {
				t.Errorf("got  %s\nwant %s\nerror %+v", out.Result, c.want, out.Error)
			}
		})
	}
}

func TestSeedReproducesRun(t *testing.T) {
	const code = `const r = [Math.random(), Math.random(), Date.now(), new Date().toISOString(), typeof Date()]; await math.add({a: 1, b: 1}); return r`
	r := runner(t, codemode.Options{})
	q := request(code)
	q.Seed = &codemode.Seed{Time: time.UnixMilli(1_700_000_000_000), Random: 42}
	first, second := run(t, r, q, newTools()), run(t, r, q, newTools())
	q.Seed = &codemode.Seed{Time: time.UnixMilli(1_700_000_000_000), Random: 43}
	other := run(t, r, q, newTools())
	if string(first.Result) != string(second.Result) || string(first.Result) == string(other.Result) {
		t.Errorf("results with the same seed: %s and %s; with another seed: %s", first.Result, second.Result, other.Result)
	}
	if !strings.Contains(string(first.Result), `1700000000000,"2023-11-14T22:13:20.000Z","string"`) {
		t.Errorf("the clock doesn't start at the seed: %s", first.Result)
	}
}

func TestOutcomeRecordsAndText(t *testing.T) {
	r := runner(t, codemode.Options{})
	d := newTools()
	q := request(`console.log("one", {a: 1}, null, undefined); console.error(new Error("two")); await text.write({x: 1}); await text.plain(); await text.fails()`)
	out := run(t, r, q, d)
	for i := range out.Logs {
		out.Logs[i].MS = 0
	}
	began := int64(0)
	for i := range out.Calls {
		if start := out.Calls[i].StartMS; start == nil || *start < 0 || *start > out.Usage.MS || i > 0 && *start < began {
			t.Errorf("call %d starts at %v of %d ms", i+1, start, out.Usage.MS)
		} else {
			began = *start
		}
		out.Calls[i].MS, out.Calls[i].StartMS = 0, nil
	}
	wantCalls := []codemode.CallRecord{
		{Seq: 1, Tool: "text__write", OK: true, ArgsBytes: 7, ResultBytes: 4, Effect: codemode.EffectWrite},
		{Seq: 2, Tool: "text__plain", OK: true, ArgsBytes: 2, ResultBytes: 10, Effect: codemode.EffectRead},
		{Seq: 3, Tool: "text__fails", Error: "no such file", ArgsBytes: 2, Effect: codemode.EffectRead},
	}
	if diff := cmp.Diff(wantCalls, out.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	wantLogs := []codemode.LogLine{{Level: "log", Text: `one {"a":1} null undefined`}, {Level: "error", Text: "Error: two"}}
	if diff := cmp.Diff(wantLogs, out.Logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	e := out.Error
	if e == nil || e.Phase != sandbox.PhaseRuntime || e.Name != "ToolError" || e.Tool != "text__fails" || e.CallSeq != 3 || e.StartedCalls != 3 || !strings.Contains(e.Hint, "1 text__write") {
		t.Errorf("error %+v", e)
	}
	if out.Usage.ToolCalls != 3 || out.Usage.MemoryBytes == 0 {
		t.Errorf("usage %+v", out.Usage)
	}
	raw, err := out.ToolResult(func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].Text
	if !result.IsError || !strings.HasPrefix(text, "--- logs ---\n[log] one") || !strings.Contains(text, "--- error ---\nruntime: ToolError: no such file") || strings.Contains(text, "just words") {
		t.Errorf("isError %v, text:\n%s", result.IsError, text)
	}
}

func TestWatchReceivesEveryStep(t *testing.T) {
	r := runner(t, codemode.Options{})
	var steps []string
	q := request("await math.add({a: 1, b: 2}); console.log('between'); await text.fails({}).catch(() => console.error('caught'))")
	q.OnStep = func(s codemode.Step) {
		switch {
		case s.Began != nil:
			steps = append(steps, fmt.Sprintf("%d %s started", s.Began.Seq, s.Began.Tool))
		case s.Ended != nil:
			steps = append(steps, fmt.Sprintf("%d %s ended %v %s", s.Ended.Seq, s.Ended.Tool, s.Ended.OK, s.Ended.Error))
		default:
			steps = append(steps, s.Line.Level+" "+s.Line.Text)
		}
	}
	out := run(t, r, q, newTools())
	want := []string{
		"1 math__add started", "1 math__add ended true ", "log between", "2 text__fails started", "2 text__fails ended false no such file", "error caught",
	}
	if d := cmp.Diff(want, steps); d != "" || !out.OK {
		t.Errorf("steps (-want +got):\n%s%+v", d, out.Error)
	}
}
