package codemode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
)

// office returns the tools of five servers and their dispatcher, for programs
// with and without mistakes.
func office() ([]codemode.Tool, codemode.Dispatcher) {
	items := `[{"id":1,"title":"One","open":true},{"id":2,"title":"Two","open":false},{"id":3,"title":"Three","open":true}]`
	results := map[string]string{
		"tracker__list_items": structured(`{"items":` + items + `}`), "tracker__all_items": words(items), "tracker__create_item": structured(`{"id":4}`), "tracker__read_note": words("Remember the milk\nand bread"),
		"chat-room__list_rooms": words(`[{"id":"a","name":"general"},{"id":"b","name":"random"}]`), "chat-room__send": structured(`{"ok":true}`),
		"climate__now": words("Cloudy, 12 degrees"), "climate__days": structured(`{"days":[{"day":"Mon","high":12},{"day":"Tue","high":15}]}`),
		"store__query": structured(`{"rows":[{"n":1}],"rowCount":1}`), "disk__list": words(`["a.txt","b.txt"]`), "disk__write": words("written"),
		"disk__picture": `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`,
	}
	var tools []codemode.Tool
	for _, name := range []string{
		"tracker__list_items", "tracker__all_items", "tracker__create_item", "tracker__read_note", "chat-room__list_rooms", "chat-room__send", "climate__now", "climate__days",
		"store__query", "disk__read", "disk__list", "disk__write", "disk__picture",
	} {
		alias, local, _ := strings.Cut(name, "__")
		tools = append(tools, tool(alias, local, codemode.EffectUnknown))
	}
	return tools, dispatch(func(_ context.Context, name string, arguments []byte) ([]byte, error) {
		if name == "disk__read" {
			if strings.Contains(string(arguments), "none.txt") {
				return []byte(`{"content":[{"type":"text","text":"ENOENT: no such file, open 'none.txt'"}],"isError":true}`), nil
			}
			return []byte(words("plain words in " + name)), nil
		}
		result, known := results[name]
		if !known {
			return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "There is no tool %q.", name)
		}
		return []byte(result), nil
	})
}

func words(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)
}

func structured(raw string) string {
	return `{"content":[],"structuredContent":` + raw + `}`
}

// TestHints runs programs with mistakes. The text of each outcome must contain
// the fix, and at most one hint more.
func TestHints(t *testing.T) {
	const form = `write tracker.all_items({…}) or gateway.call("alias__tool", {…}); servers here: tracker, chat$_room, climate, store, disk`
	tools, d := office()
	r := runner(t, codemode.Options{})
	for _, tt := range []struct{ name, code, want string }{
		{"camel case", "return await tracker.allItems({})", "tracker has no tool allItems; did you mean tracker.all_items?"},
		{"hyphens", "return await tracker['all-items']({})", "tracker has no tool all-items; did you mean tracker.all_items?"},
		{"wrong case, caught", "try {\n  return await tracker.List_Items({});\n} catch (e) { return e.message }", "tracker has no tool List_Items; did you mean tracker.list_items?"},
		{"destructured", "const { listItems } = tracker;\nreturn await listItems({})", "tracker has no tool listItems; did you mean tracker.list_items?"},
		{"tool of another server", "return await tracker.query({})", "tracker has no tool query; did you mean store.query?"},
		{"gateway.call with a wrong name", `return await gateway.call("tracker__allItems", {})`, "tracker has no tool allItems; did you mean tracker.all_items?"},

		{"underscore for a hyphen", "return await chat_room.list_rooms({})", "there is no server chat_room; its name in code is chat$_room"},
		{"hyphen", "return await chat-room.list_rooms({})", "there is no server chat-room; its name in code is chat$_room"},
		{"camel case of a hyphen", "const rooms = await chatRoom.list_rooms({});\nreturn rooms", "there is no server chatRoom; its name in code is chat$_room"},
		{"wrong case of a server", "return await Tracker.all_items({})", "there is no server Tracker; its name in code is tracker"},

		{"tools prefix", "return await tools.tracker.all_items({})", form},
		{"mcp prefix", "const x = await mcp.tracker.all_items({});\nreturn x", form},
		{"tools with the full name", "return await tools['tracker__all_items']({})", form},
		{"prefix, caught", "try { return await tools.tracker.all_items({}) } catch { return [] }", form},

		{"full name as a function", "return await tracker__all_items({})", form},
		{"callTool", `return await callTool("tracker__all_items", {})`, form},
		{"mcp.callTool", `return await mcp.callTool("tracker__all_items", {})`, form},
		{"gateway.callTool", `return await gateway.callTool("tracker__all_items", {})`, form},
		{"gateway prefix", `return await gateway.tracker.all_items({})`, form},
		{"call_tool", `const r = await call_tool({ name: "tracker__all_items" }); return r`, `or gateway.call("alias__tool", {…}); servers here: tracker`},

		{"unknown server", "return await jira.search({})", "there is no server jira; write tracker.list_items({…}) or gateway.call(\"alias__tool\", {…}); servers here: tracker, chat$_room, climate, store, disk"},
		{"mistyped server", "return await traker.all_items({})", "there is no server traker, did you mean tracker?; " + form},
		{"unknown server in brackets", "return await notion['all_items']({})", "there is no server notion; " + form},

		{"not awaited", "const rooms = chat$_room.list_rooms({});\nchat$_room.send({ text: 'a' });\nreturn 1", "2 calls were not awaited (list_rooms at 1:15, send at 2:1); use await, or await Promise.all(list.map(…))"},
		{"promise used as a value", "const rooms = chat$_room.list_rooms({});\nreturn rooms.map((r) => r.id)", "1 call was not awaited (list_rooms at 1:15); use await"},
		{"promise in the result", "return { rooms: chat$_room.list_rooms({}) }", "1 call was not awaited (list_rooms at 1:17); use await"},
		{"map without Promise.all", "const ids = ['a', 'b'];\nreturn ids.map(async (id) => await chat$_room.send({ id }))", "2 calls were not awaited (send at 2:36); use await, or await Promise.all(list.map(…))"},

		{"forEach with async", "const out = [];\n['a', 'b'].forEach(async (id) => {\n  out.push(await chat$_room.send({ id }));\n});\nreturn out", "2 calls were not awaited (send at 3:18); use await, or await Promise.all(list.map(…))"},
		{"forEach with async function", "const rooms = await chat$_room.list_rooms({});\nlet n = 0;\nrooms.forEach(async function (room) { await chat$_room.send(room); n++; });\nreturn n", "2 calls were not awaited (send at 3:45); use await"},
		{"async function not awaited", "async function post() { const r = await chat$_room.send({}); return r }\npost();\nreturn 'sent'", "1 call was not awaited (send at 1:41); use await"},

		{"failure not awaited", "disk.read({ path: 'none.txt' });\nawait disk.list({});\nreturn 1", "the result stands, but disk.read failed at 1:1: ENOENT: no such file, open 'none.txt'"},
		{"failure in an empty catch", "try {\n  await disk.read({ path: 'none.txt' });\n} catch {}\nreturn 'done'", "the result stands, but disk.read failed at 2:9: ENOENT"},
		{"failure hidden by a default", "let text = 'default';\ntry {\n  text = await disk.read({ path: 'none.txt' });\n} catch {}\nreturn text", "the result stands, but disk.read failed at 3:16: ENOENT"},
		{"failure in allSettled", "await Promise.allSettled([disk.read({ path: 'none.txt' }), disk.list({})]);\nreturn 'done'", "the result stands, but disk.read failed at 1:27: ENOENT"},
		{"failure in an empty handler of a value", "const text = await disk.read({ path: 'none.txt' })\n  .catch(() => {});\nreturn { text }", "the result stands, but disk.read failed at 1:20: ENOENT"},
		{"failure in an empty handler", "await disk.read({ path: 'none.txt' }).catch(() => {});\nreturn 'done'", "the result stands, but disk.read failed at 1:7: ENOENT"},

		{"content of an array", "const r = await tracker.all_items({});\nreturn r.content[0].text", "calls return the value itself: r is an array of 3"},
		{"content of an object", "const r = await store.query({});\nreturn r?.content?.[0]?.text", "calls return the value itself: r is an object with rows, rowCount"},
		{"content of a text", "const note = await tracker.read_note({});\nreturn note.content[0].text", `calls return the value itself: note is a text; it begins "Remember the milk and bread"`},
		{"content of the call", "return (await tracker.all_items({})).content[0].text", "calls return the value itself: tracker.all_items returned an array of 3"},
		{"content after Promise.all", "const [a, b] = await Promise.all([tracker.all_items({}), climate.now({})]);\nreturn a.content[0].text + b", "calls return the value itself: a is an array of 3"},
		{"content in a callback", "const all = await Promise.all([1, 2].map(() => tracker.all_items({})));\nreturn all.map((r) => r.content[0].text)", "calls return the value itself: tracker.all_items returned an array of 3"},

		{"JSON.parse of an array", "const r = await tracker.all_items({});\nreturn JSON.parse(r).length", "calls return the value itself: r is an array of 3"},
		{"JSON.parse of an object", "const result = JSON.parse(await store.query({}));\nreturn result.rows", "calls return the value itself: the argument of JSON.parse is an object with rows, rowCount"},
		{"JSON.parse of a text", "const r = await climate.now({});\nreturn JSON.parse(r)", `calls return the value itself: r is a text; it begins "Cloudy, 12 degrees"`},

		{"property of a text", "const w = await climate.now({});\nreturn w.current.temp", `climate.now returned a text, so .current is undefined; it begins "Cloudy, 12 degrees"`},
		{"optional property of a text", "const w = await climate.now({});\nreturn w?.current?.temp", `climate.now returned a text, so .current is undefined; it begins "Cloudy, 12 degrees"`},
		{"property of a text in an object", "const w = await climate.now({});\nreturn { temp: w.temperature }", `climate.now returned a text, so .temperature is undefined`},

		{"servers that are unpacked", "const { store } = servers;\nreturn await store.query({})", "there is no servers; write store.query({…}) or gateway.call("},
		{"content that is unpacked", "const { content } = await store.query({});\nreturn content[0].text", "calls return the value itself: store.query returned an object with rows, rowCount"},
		{"property of a text with a default", "const w = await climate.now({});\nreturn { temp: w.temp ?? null, wind: w.wind?.speed ?? null }", "climate.now returned a text, so .temp is undefined"},
		{"block inside of a value", "const { content } = await disk.picture({});\nreturn { title: 'a', image: content[0] }", "return the block itself, or an array of texts and blocks"},
		{"import", "import fs from 'fs';\nreturn fs.readFileSync('a')", "import is not available: there are no modules; the servers are constants of the code: tracker, chat$_room"},
		{"import()", "const fs = await import('fs');\nreturn fs", "import is not available: there are no modules"},
		{"require", "const axios = require('axios');\nreturn axios", "require is not available: there are no modules"},
		{"process", "return process.env.TOKEN", "process is not available: there is no process and no environment; send values as input"},
		{"fetch", "const r = await fetch('https://example.com');\nreturn await r.json()", "fetch is not available: fetch is off in this project; call a tool of a server instead"},
		{"setInterval", "setInterval(() => console.log(1), 100);\nreturn 1", "setInterval is not available: use setTimeout in a loop"},
		{"process, caught", "try { return process.env.TOKEN } catch (e) { return String(e) }", "process is not available"},

		{"Python", "items = await tracker.all_items()\nfor item in items:\n    print(item['title'])", "the code is Python; write TypeScript or JavaScript: const result = await tracker.list_items({…}); return result;"},
		{"Python function", "def main():\n    return tracker.all_items()\n\nmain()", "the code is Python; write TypeScript or JavaScript: const result = await tracker.list_items({…}); return result;"},
		{"Python that parses", "print(await tracker.all_items({}))", "the code is Python; write TypeScript or JavaScript: const result = await tracker.list_items({…}); return result;"},

		{"Python with only keyword arguments", "items = await tracker.all_items(project=\"a\")\nlen(items)", "the code is Python; write TypeScript or JavaScript: "},

		{"nothing returned", "const items = await tracker.all_items({});\nconst titles = items.map((i) => i.title);", "the code returned nothing: end with `return …`"},
		{"loop without a result", "let sum = 0;\nfor (const day of (await climate.days({})).days) {\n  sum += day.high;\n}", "the code returned nothing: end with `return …`"},
		{"return only in a callback", "const items = await tracker.all_items({});\nconst open = items.filter((i) => {\n  return i.open;\n});", "the code returned nothing: end with `return …`"},

		{"alias of a server", "const t = tracker;\nreturn await t.allItems({})", "tracker has no tool allItems; did you mean tracker.all_items?"},
		{"server as a function", "return await tracker('all_items', {})", "tracker is a server, not a function; " + form},
		{"window prefix", "return await window.tracker.all_items()", form},
		{"two prefixes", "return await gateway.tools.tracker.all_items({})", form},
		{"calls in a list", "const all = [];\nfor (const path of ['a', 'b']) all.push(disk.read({ path }));\nreturn all.map((t) => t.length)", "2 calls were not awaited (read at 2:41); use await"},
		{"then without await", "disk.read({ path: 'none.txt' }).then((t) => console.log(t));\nreturn 1", "the result stands, but disk.read failed at 1:1: ENOENT"},
		{"members of a text", "const { temp } = await climate.now({});\nreturn { temp }", "climate.now returned a text, so .temp is undefined"},
		{"comparison of a member of a text", "const w = await climate.now({});\nif (w.temp > 10) return 'warm';\nreturn 'cold'", "climate.now returned a text, so .temp is undefined"},
		{"members of a list of texts", "const files = await disk.list({});\nreturn files.map((f) => f.name)", "disk.list returned an array of texts, so .name of each is undefined"},
		{"name that is not declared", "result = await tracker.all_items({});\nreturn result", "result is not declared; write const result = …"},
		{"members of an array", "const { data } = await tracker.all_items({});\nreturn data.map((d) => d.title)", "data is undefined at 2:12, so .map can't be read; tracker.all_items returned an array of 3"},
		{"method of an object", "const res = await tracker.list_items({});\nreturn res.map((i) => i.title)", "res is an object with items, so it has no method map"},

		{"index out of range", "const items = await tracker.all_items({});\nreturn items[5].title", "items[5] is undefined at 2:16, so .title can't be read; items is an array of 3"},
		{"member that is absent", "const r = await store.query({});\nreturn r.items[0].n", "r.items is undefined at 2:15, so [0] can't be read; r is an object with rows, rowCount"},
		{"method of undefined", "const r = await store.query({});\nreturn r.results.map((x) => x.n)", "r.results is undefined at 2:17, so .map can't be read; r is an object with rows, rowCount"},
		{"loop over undefined", "const r = await store.query({});\nfor (const x of r.items) console.log(x);\nreturn 1", "r.items is undefined at 2:24, so it can't be iterated; r is an object with rows, rowCount"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := run(t, r, codemode.Request{ProjectID: "p", Code: tt.code, Tools: tools}, d)
			if _, hints, _ := strings.Cut(out.Text(), "--- hints ---"); !strings.Contains(hints, tt.want) {
				t.Errorf("%s\ngot %s\nwant %s", tt.code, out.Text(), tt.want)
			}
			if len(out.Hints) > 2 {
				t.Errorf("%d hints: %q", len(out.Hints), out.Hints)
			}
		})
	}
}
